// Package wallclock defines the times that the service stores: milliseconds on
// the store's wall clock, which it does not read.
package wallclock
