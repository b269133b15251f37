// Package records says how a record lies in the keys of a shard: how it is read, which
// commands put another one in its place, and what is counted of it.
//
// A record bears a stamp, new with each value. A script replaces a record only if its
// stamp is the one that the caller has read.
package records
