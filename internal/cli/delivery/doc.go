// Package delivery follows one task for several commands: it describes the
// request, waits for the end, and finds out why a callback has not arrived.
package delivery
