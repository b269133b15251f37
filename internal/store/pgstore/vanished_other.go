//go:build !linux

package pgstore

import (
	"syscall"
	"time"
)

// endUnacknowledged does nothing: a change that a vanished host has not acknowledged
// ends when the kernel gives up.
func endUnacknowledged(syscall.Conn, time.Duration) error { return nil }
