//go:build !linux

package redistest

import "syscall"

// childAttr asks for nothing: where the test program is killed its servers stay.
func childAttr() *syscall.SysProcAttr { return nil }
