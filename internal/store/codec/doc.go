// Package codec encodes the records of tasks, in the same form for every store.
//
// The package is pure: no clock, no medium; each store has its own keys, bodies
// and indexes.
package codec

import (
	"errors"
	"fmt"
)

// Format is the format of a store and of each value in it: the first byte of a
// record, and of any other value that a store reads with Unwrap. Until v0.1 each
// change that other code would misread raises it, because no code reads another
// format than its own: see OtherFormat.
const Format = 6

// ErrDamaged means that this code cannot have written the value.
var ErrDamaged = errors.New("damaged")

// ErrOtherFormat means that a store or a backup has another format than Format.
var ErrOtherFormat = errors.New("to move its tasks, run \"foliot export\" with the version of foliot that wrote it, and \"foliot import\" with this one")

// OtherFormat refuses a store or a backup, which has the format found, with an
// ErrOtherFormat. Nothing must have been written to it.
func OtherFormat(what, found string) error {
	return fmt.Errorf("%s has format %s, this version of foliot reads only format %d and has changed nothing: %w", what, found, Format, ErrOtherFormat)
}
