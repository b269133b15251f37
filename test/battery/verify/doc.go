// Package verify compares the logs of a run: what clients were promised, what
// receivers got, and which faults were inflicted. Its functions are pure.
package verify
