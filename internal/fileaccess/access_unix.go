//go:build unix

package fileaccess

import (
	"io/fs"
	"syscall"
)

// nonblocking is the flag that opens a pipe without a wait for its writer.
const nonblocking = syscall.O_NONBLOCK

// KeepPrivate makes all new files of this process accessible only to its user. An
// existing data directory may be open to others, and its files contain bodies,
// headers and signing secrets.
func KeepPrivate() { syscall.Umask(0o077) }

// accessOf returns the owner and mode of a file, and whether they are known.
func accessOf(info fs.FileInfo) (access, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return access{}, false
	}
	return access{mode: info.Mode(), owner: int(stat.Uid)}, true
}

// mayWrite returns nil if this process may create files in a directory, and
// otherwise the reason.
func mayWrite(dir string) error {
	const write, search = 2, 1
	return syscall.Access(dir, write|search)
}
