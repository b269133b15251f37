package client

import (
	"net"
	"syscall"
	"unsafe"
)

// unread returns how many bytes the kernel holds that nobody has read.
func unread(c *net.TCPConn) (n int32) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) { // it fails when the connection is closed: then nothing comes any more
		_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCINQ, uintptr(unsafe.Pointer(&n)))
	})
	return n
}
