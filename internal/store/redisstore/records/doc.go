// Package records defines how a record is stored in the keys of a shard: how it
// is read, which commands replace it, and how it is counted. A record has a stamp that
// is new with each value, and is replaced only if it still has the stamp that was read.
package records
