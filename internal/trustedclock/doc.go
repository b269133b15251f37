// Package trustedclock provides the time that decides about ends: tasks expire,
// records and tokens are removed, lost leases are taken back. These steps
// cannot be undone, and a wall clock may be wrong for a moment: a user sets it,
// or a Redis server with another clock replaces a master. So a step ahead
// counts only after it has lasted.
package trustedclock
