// Package idle closes connections that nobody used for a while, and keeps the others alive, at the cost of copying a number
// for each use.
//
// It is being built. So far there are the number (grid, clock) and its copies (Entry); not yet the Group that watches them.
//
// # How idleness is told
//
// A group counts steps: one for each resolution R, on a fixed grid, while it has connections. A touch stores the number of
// the present step in the connection's entry: no clock is read, no lock taken, no timer moved. A connection whose timeout is T
// is idle at step n if
//
//	n − max(touched, floor) ≥ ceil(T/R) + 2
//
// Invariant: it has then been silent for T at least. Step k is taken at k·R or later, and, but for stalls, at (k+1)·R at the
// latest. What was touched in step c was touched before step c+1 was taken, so before (c+2)·R; and step n is taken at n·R or
// later, that is at (c+2)·R + T or later.
//
// A stall is a step that is taken later than R after its place: the process was stopped, starved, or the machine suspended. Then
// the touched numbers are older than the touches, and nobody could speak. So the floor is raised to that step: every connection
// counts as touched then, and has a full timeout to speak.
package idle
