// Package pebblestore keeps tasks in one directory, in an embedded LSM tree:
// what it has answered survives kill -9 and power loss.
//
// The data goes one way:
//
//	Apply, Settle ──┐                            ┌─► syncer ─► replies, hints
//	Claim, Extend ──┼─► queue ─► committer ──────┤
//	Sweep, Reap ────┘            one Pebble batch└─► claims' replies, at once
//	                             of many calls
//	Get, List, Peek ──► read ─► wait until what was read is synced ─► answer
//	Configure ──► queue, as Apply; the syncer shows the new settings
//	Scrub ──► read ─► what is doubtful ─► queue ─► looked at again, and repaired
//
// One goroutine, the committer, makes every change: it runs the domain's pure
// transitions on the records and writes the differences. committer.go explains
// how it groups calls into one fsync, and why nothing is answered before it.
// format.go is the table of the keys, package codec says how records are
// written, package marks how the due index is read without wading through
// what was deleted at its head, counts.go, audit.go and registry.go keep what is
// not a task, scrub.go and mend.go what must always be true, backup.go,
// restore.go and inspect.go carry a directory elsewhere.
package pebblestore
