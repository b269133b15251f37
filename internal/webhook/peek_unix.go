//go:build unix

package webhook

import "syscall"

// canPeek reports whether peek knows if there are unread bytes.
const canPeek = true

// peek looks for unread bytes without a wait.
func peek(c syscall.RawConn) (found peeked) {
	if c == nil {
		return closedByPeer
	}
	err := c.Read(func(fd uintptr) bool {
		var one [1]byte
		n, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK)
		switch {
		case n > 0:
			found = someToRead
		case err == syscall.EAGAIN || err == syscall.EINTR:
			found = nothingToRead
		default:
			found = closedByPeer
		}
		return true // never wait
	})
	if err != nil {
		return closedByPeer
	}
	return found
}
