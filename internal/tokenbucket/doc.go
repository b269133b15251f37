// Package tokenbucket limits rates: units flow into a bucket at a constant rate,
// and callers take them out. It reads no clock: callers pass the time.
//
// golang.org/x/time/rate also takes the time as an argument, but does not fit. It
// grants all units of a call or none, and never more than the burst. A Bucket can
// grant a part of the units, and can be overdrawn for work that is already done,
// so that later calls wait until the units have flowed in. A time that the clock
// repeats after a step back fills a Bucket only once.
//
// The planner of internal/dispatch has a bucket of its own: a pick reserves a
// token before it is charged, and an unsent attempt returns it.
//
// ClientOf returns the address under which limits per client are counted.
package tokenbucket
