// Package kernel has the rules of a task's life that hold in every store. Decide, a
// pure function, decides each step; ARCHITECTURE.md has the order of its checks. Make
// is the loop for media that several nodes share, because these compare stamps. List,
// Upcoming and Due are the queries of all media, over a small Reader. The package has
// no clock and no goroutine.
package kernel
