package redistest

import "syscall"

// ChildAttr makes the kernel kill a server when its test program dies in any
// way.
func ChildAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
