//go:build unix && !linux

package child

import (
	"syscall"
	"time"
)

// dieWithParent has nothing to set: such a signal is Linux's alone.
func dieWithParent() *syscall.SysProcAttr { return nil }

// Now is the wall clock, which all processes share.
func Now() time.Duration { return time.Duration(time.Now().UnixNano()) }
