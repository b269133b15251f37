//go:build unix

package server

import "syscall"

// fileLimit returns the number of descriptors that this process may open. Go's
// runtime has already raised the soft limit to the hard limit.
func fileLimit() uint64 {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return manyDescriptors
	}
	return uint64(r.Cur)
}
