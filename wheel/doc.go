// Package wheel provides timers.
package wheel
