//go:build unix

package fileaccess

import (
	"io/fs"
	"syscall"
)

// KeepPrivate has all files that this process makes be its user's alone: a data
// directory that was there before may stand open, and its files hold bodies,
// headers and signing secrets.
func KeepPrivate() { syscall.Umask(0o077) }

// accessOf returns the users of a file, and whether the system knows that.
func accessOf(info fs.FileInfo) (access, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return access{}, false
	}
	return access{mode: info.Mode(), owner: int(stat.Uid)}, true
}

// mayWrite returns why this process may not make files in a directory; nil if it may.
func mayWrite(dir string) error {
	const write, search = 2, 1
	return syscall.Access(dir, write|search)
}
