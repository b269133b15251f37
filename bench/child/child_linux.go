package child

import (
	"syscall"
	"time"
	"unsafe"
)

// dieWithParent returns attributes that kill the child when its parent dies. A
// frozen child would not notice that its pipe is closed.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// Now reads the monotonic clock, which all processes of the machine share. It
// makes a system call, so it is not for hot paths.
func Now() time.Duration {
	const monotonic = 1
	var at syscall.Timespec
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&at)), 0)
	return time.Duration(at.Nano())
}
