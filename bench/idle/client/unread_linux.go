package client

import (
	"net"
	"syscall"
	"unsafe"
)

// unread returns the number of unread bytes in the kernel.
func unread(c *net.TCPConn) (n int32) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) { // an error means that the connection is closed and nothing more comes
		_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCINQ, uintptr(unsafe.Pointer(&n)))
	})
	return n
}
