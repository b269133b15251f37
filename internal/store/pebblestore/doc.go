// Package pebblestore keeps tasks in one directory, in an embedded LSM tree,
// where confirmed changes survive kill -9 and power loss.
//
// The data flows in one direction:
//
//	Transit, Sweep ──┐                              ┌─► syncer ─► replies, hints
//	Configure ───────┴─► queue ─► committer ────────┤
//	                              one Pebble batch  └─► replies to claims, at once
//	                              for many calls
//	Get, List, Peek ──► read ─► wait until the result is synced ─► reply
//	Scrub ──► read a snapshot ─► doubts ─► queue ─► checked again, and repaired
//
// One goroutine, the committer, makes every change; format.go lists the keys.
package pebblestore
