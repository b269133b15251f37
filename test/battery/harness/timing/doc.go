// Package timing waits for instants, calls functions at a rate, in parallel and
// in the background.
package timing
