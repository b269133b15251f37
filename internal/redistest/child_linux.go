package redistest

import "syscall"

// childAttr makes the kernel kill a server when its test program dies in any
// way.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
