package pgstore

import (
	"cmp"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// endUnacknowledged makes the kernel end a connection when the host of its peer has not
// acknowledged what was sent for so long. Without it, the kernel tries for 15 minutes.
func endUnacknowledged(c syscall.Conn, after time.Duration) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var refused error
	err = raw.Control(func(fd uintptr) {
		refused = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(after.Milliseconds()))
	})
	return cmp.Or(err, refused)
}
