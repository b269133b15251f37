// Package sparselog decides which lines of a log are written if the same event
// comes very often. A store that is down can fail a thousand calls a second: a
// few lines say as much as all of them.
//
// The first lines of each kind in a window of time are written. The next written
// line has the number of lines that were left out before it. A Window counts the
// lines of one kind, and Kinds counts the lines of several kinds.
//
// The package writes nothing and reads no clock: its callers pass the time, and
// write the line themselves.
package sparselog
