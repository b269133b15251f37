//go:build unix && !linux

package child

import (
	"syscall"
	"time"
)

// dieWithParent returns nothing to set: only Linux has such a signal.
func dieWithParent() *syscall.SysProcAttr { return nil }

// Now is the wall clock, which all processes share.
func Now() time.Duration { return time.Duration(time.Now().UnixNano()) }
