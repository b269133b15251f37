// Package pebblestore keeps tasks in one directory, in an embedded LSM tree.
// Confirmed changes survive kill -9 and power loss.
//
// The data flows in one direction:
//
//	Apply, Settle ──┐                            ┌─► syncer ─► replies, hints
//	Claim, Extend ──┼─► queue ─► committer ──────┤
//	Sweep, Reap ────┘            one Pebble batch└─► replies to claims, at once
//	                             for many calls
//	Get, List, Peek ──► read ─► wait until the result is synced ─► reply
//	Configure ──► queue, like Apply; the syncer publishes the new settings
//	Scrub ──► read ─► doubtful entries ─► queue ─► checked again, and repaired
//
// One goroutine, the committer, makes every change. It runs the domain's pure
// transitions on the records and writes the differences. committer.go explains
// how it groups calls into one fsync, and why no change is confirmed before
// that.
//
// format.go lists the keys. Package codec encodes the records. Package marks
// makes reads of the due index skip the deleted entries at its head. counts.go,
// audit.go and settings.go keep everything besides tasks. scrub.go and repair.go
// check and repair the invariants. backup.go, restore.go and inspect.go copy a
// directory.
package pebblestore
