//go:build !unix

package webhook

import "syscall"

// canPeek reports whether peek knows if there are unread bytes.
const canPeek = false

// peek cannot look for unread bytes without a wait on this system, so the
// caller reads instead, and waits for a millisecond.
func peek(syscall.RawConn) peeked { return someToRead }
