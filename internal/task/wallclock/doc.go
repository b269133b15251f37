// Package wallclock has the time as the service stores it: milliseconds on the
// store's wall clock. It reads no clock.
package wallclock
