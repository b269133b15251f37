//go:build !linux

package redistest

import "syscall"

// childAttr requests nothing: if the test program is killed, its servers stay.
func childAttr() *syscall.SysProcAttr { return nil }
