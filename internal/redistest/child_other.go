//go:build !linux

package redistest

import "syscall"

// ChildAttr requests nothing: if the test program is killed, its servers stay.
func ChildAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
