//go:build !linux

package system

import "syscall"

// ChildAttributes asks for nothing: where the battery is killed its processes stay.
func ChildAttributes() *syscall.SysProcAttr { return nil }
