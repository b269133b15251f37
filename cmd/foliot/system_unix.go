//go:build unix

package main

import "syscall"

// keepPrivate has all files that this process makes be its user's alone: a data
// directory that was there before may stand open, and its files hold bodies,
// headers and signing secrets.
func keepPrivate() { syscall.Umask(0o077) }

// fileLimit returns how many descriptors this process may have open. Go's
// runtime has raised the soft limit to the hard one by now.
func fileLimit() uint64 {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return manyDescriptors
	}
	return uint64(r.Cur)
}
