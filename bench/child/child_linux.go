package child

import (
	"syscall"
	"time"
	"unsafe"
)

// dieWithParent ends a child that is frozen when its parent dies: it cannot see that its pipe is closed.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// Now reads the monotonic clock, which is the same in all processes of the machine. A system call, so not for hot paths.
func Now() time.Duration {
	const monotonic = 1
	var at syscall.Timespec
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&at)), 0)
	return time.Duration(at.Nano())
}
