// Package kernel has the rules of a task's life that hold in every store. Decide, a pure
// function, decides each step; ARCHITECTURE.md has the order of its checks. If several
// nodes share a medium, Make repeats a step until no other call has changed the record
// between the decision and the write. List, Upcoming and Due are the queries of all
// media, over a small Reader. The package has no clock and no goroutine.
package kernel
