// Package permits is the rule by which nodes share the limits of a queue, or of
// one of its destinations. It is pure: a store keeps the state of each scope,
// and locks it while an ask changes it. Redis, which runs no Go, has the rule
// in Lua; a test of redisstore compares the two.
//
// All times are microseconds. A process counts as wanting permits until Fresh,
// and keeps its permits until its lease ends. The clock can go back, by a step
// or a failover. So no stored lease is longer than a new ask would make it, and
// no bucket is emptier than empty: otherwise a queue would stop for the length
// of the step.
//
// Idempotent: an ask states the result it wants, not a change, so the next ask
// makes up for a lost one. An ask that arrives twice, or after a later one,
// changes nothing.
//
// Permits. Their sum grows only up to the limit. If processes want more, each
// gets the number it wants, up to a level that is the same for all. The rest,
// fewer permits than processes, rotates: after a slice of time, it goes to the
// process that has been without for the longest time. A process above its share
// returns permits as they become free.
//
// Tokens. Full is the time when the bucket is full again, by the tokens that
// are known to be used. Tokens that were given out count as used, so in any
// time there are at most burst + rate·time starts. The last token can be for
// later; the reply then has its time. Processes that wait for a token form a
// queue.
package permits
