// Package codec says how a task's record and the entries of the audit log are
// written as bytes: the same in every store that keeps bytes, so that what one
// version wrote in one of them every later version reads in all.
//
// It is pure: no clock, no medium. Keys, bodies and indices are each store's own.
package codec

import "errors"

// Format is the first byte of each value: of a record, and of whatever else a
// store puts behind it, to be read with Unwrap. A field that older code may
// ignore needs no other one.
const Format = 1

// scheduleFormat is the first byte of a schedule's record: whoever knows no schedules
// would take it for a task, and send it.
const scheduleFormat = 2

// Why a value is refused.
var (
	// ErrDamaged: this code cannot have written it.
	ErrDamaged = errors.New("damaged")
	// ErrNewerFormat: a newer version wrote it in a way that this one would misread.
	ErrNewerFormat = errors.New("the data was written by a newer version of foliot")
)
