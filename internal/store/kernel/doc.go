// Package kernel has the rules of a task's life that hold in every store. Decide
// decides each step: a pure function. ARCHITECTURE.md has the order of its checks.
// Make is the loop of media that several nodes share, and that compare stamps. List,
// Upcoming and Due are the queries of all media, over a small Reader. The package has
// no clock and no goroutine.
package kernel
