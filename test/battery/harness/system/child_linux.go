package system

import (
	"syscall"
)

// ChildAttributes makes the kernel kill a process whose battery has died, however that
// came about.
func ChildAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
