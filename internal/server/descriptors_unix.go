//go:build unix

package server

import "syscall"

// fileLimit returns how many descriptors this process may have open. Go's
// runtime has raised the soft limit to the hard one by now.
func fileLimit() uint64 {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return manyDescriptors
	}
	return uint64(r.Cur)
}
