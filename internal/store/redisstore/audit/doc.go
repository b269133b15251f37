// Package audit keeps the audit log of a store in streams of Redis. It reads
// pages of entries, and removes entries by age and by number.
//
// The script that makes a change also appends the entry that records it. So
// this package only defines the encoding of an entry, and the stream to which
// it belongs.
package audit
