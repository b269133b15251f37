// Package records defines how a record is stored in the keys of a shard: how it
// is read, which commands replace it, and how it is counted.
//
// A record has a stamp that is new with each value. A script replaces a record
// only if its stamp is still the one that the caller has read.
//
// A small body is a part of the record. A large body has its own hash entry.
package records
