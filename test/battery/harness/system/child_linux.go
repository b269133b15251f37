package system

import (
	"syscall"
)

// ChildAttributes makes the kernel kill a process when the battery has ended,
// for any reason.
func ChildAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
