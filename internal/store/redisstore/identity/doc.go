// Package identity finds out which store the servers of a Redis hold: its
// format, its identity, and its lost parts.
//
// All nodes agree on the format (format.go). Every part of the store holds its
// identity. A Watch compares it, closes the store if a part has another
// identity, and opens the store again when the data is back. If parts are lost
// for good, an operator can accept that (accept.go).
package identity
