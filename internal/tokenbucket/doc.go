// Package tokenbucket limits rates: units flow into a bucket at a constant rate,
// and callers take them out. It reads no clock: callers pass the time.
//
// golang.org/x/time/rate takes the time as an argument too, and does not fit. It
// grants all units of a call or none, and never more than the burst. A bucket
// here also grants a part of a call, and can be overdrawn for work that is
// already done: later calls then wait. And a time that the clock repeats after a
// step back fills it only once.
//
// The planner of internal/dispatch has a bucket of its own: a pick reserves a
// token before it is charged, and an unsent attempt returns it.
//
// ClientOf returns the address under which limits per client are counted.
package tokenbucket
