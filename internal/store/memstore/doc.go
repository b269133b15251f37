// Package memstore keeps tasks in memory: maps and one mutex.
//
// It is the reference. Every other store must show what this one shows after
// the same commands, and is compared with it command by command, so it is
// written to be judged by reading: it has no index that could disagree with
// its records, and pays for that by scanning. It is also the fake of all
// tests, and what `foliot serve --store memory:` runs on for trying things out.
package memstore
