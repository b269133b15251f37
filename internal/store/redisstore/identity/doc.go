// Package identity knows which store lies in the servers of a Redis: its format, its
// identity, and which parts of it are lost.
//
// All nodes agree on the format (format.go). Every part of the store bears its
// identity. A Watch compares it, closes the store if a part bears another one, and
// opens the store again when the data is back. If parts are lost for good, an
// operator may accept that (accept.go).
package identity
