// Package wallclock defines the times that the service stores: milliseconds on
// the store's wall clock. It reads no clock.
package wallclock
