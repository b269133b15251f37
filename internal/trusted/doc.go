// Package trusted tells the time by which things may end: tasks expire, records and
// tokens are removed, lost leases are taken back. None of that can be undone, and a
// wall clock may be wrong for a moment: somebody sets it, or a Redis server with another
// clock takes a master's place. So a step ahead is believed only when it has lasted.
package trusted
