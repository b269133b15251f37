//go:build linux && !386

package idle

import "syscall"

const sysGetsockopt = syscall.SYS_GETSOCKOPT
