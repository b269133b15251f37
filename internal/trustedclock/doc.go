// Package trustedclock provides the time for decisions that cannot be undone:
// tasks expire, records and tokens are removed, lost leases are removed. A wall
// clock can be wrong for a moment, because a user sets it, or because a Redis
// server with another clock replaces a master. Therefore the trusted time follows
// a step ahead only after the step has lasted for a while.
package trustedclock
