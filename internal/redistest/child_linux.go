package redistest

import "syscall"

// childAttr makes the kernel kill a server whose test program has died, however
// that came about.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
