// Package codec encodes the records of tasks and the entries of the audit log.
// There are two forms: the usual form, which every version and every store reads,
// and the compact form, which only stores in memory write (compact.go). Every
// later version can read the bytes of an earlier one, in any store.
//
// The package is pure: no clock, no medium. Each store has its own keys, bodies
// and indexes.
package codec

import "errors"

// Format is the first byte of each value in the usual form: of a record, and of any other value
// that a store reads with Unwrap. A new field that older code may ignore needs
// no new format.
const Format = 1

// scheduleFormat is the first byte of a schedule's record. Versions without
// schedules would take such a record for a task, and send it.
const scheduleFormat = 2

// kindFormat is the first byte of a record with a kind, of a task or a schedule.
// Versions without kinds would take it for a request without a URL, and fail its
// attempts. compactFormat is 3.
const kindFormat = 4

// The reasons why a value is refused.
var (
	// ErrDamaged: this code cannot have written the value.
	ErrDamaged = errors.New("damaged")
	// ErrNewerFormat: a newer version wrote the value in a way that this
	// version would misread.
	ErrNewerFormat = errors.New("the data was written by a newer version of foliot")
)
