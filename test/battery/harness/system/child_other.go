//go:build !linux

package system

import "syscall"

// ChildAttributes has no effect. If the battery is killed, its processes stay.
func ChildAttributes() *syscall.SysProcAttr { return nil }
