//go:build !linux

package idle

import (
	"syscall"
	"time"
)

// probe is not used: rawOf returns an error.
type probe struct{}

func newProbe() *probe { return new(probe) }

func (*probe) received() bool { return false }

func (*probe) ages(syscall.RawConn) (read, write time.Duration, ok bool) { return 0, 0, false }
