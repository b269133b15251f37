// Package activity remembers some of the last attempts of this server, in memory
// only, so a restart clears them. Package history counts all attempts.
//
// Memory and the cost of an attempt are bounded.
package activity
