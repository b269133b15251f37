// Package kernel has the rules of a task's life that hold in every store: pure
// functions without a clock, a lock, a goroutine or I/O. A store reads and writes
// records in its medium, and lets Decide decide each step. ARCHITECTURE.md has the
// order of its checks.
package kernel
