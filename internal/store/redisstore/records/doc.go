// Package records defines how a record is stored in the keys of a shard: how it
// is read, which commands replace it, and how it is counted.
//
// A record has a stamp that is new with each value. A script replaces a record
// only if its stamp is still the one that the caller has read.
//
// The record of a task is in the compact form of package codec. A small body is
// a part of it. A large body, or one that an older version stored, has its own
// hash entry.
package records
