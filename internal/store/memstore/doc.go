// Package memstore keeps tasks in memory: maps and one mutex.
//
// It is the reference: tests compare every other store with it, command by
// command, and expect the same results, so it is written to be easy to review.
// It has no index that could disagree with its records, and pays for that by
// scanning. All tests use it as their fake, and `foliot serve --store memory:`
// runs on it for experiments.
package memstore
