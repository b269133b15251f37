//go:build !unix

package fileaccess

import "io/fs"

const nonblocking = 0

// KeepPrivate does nothing, because files have no such modes on this system.
func KeepPrivate() {}

// accessOf reports false, because files have no such modes and owners on this
// system.
func accessOf(fs.FileInfo) (access, bool) { return access{}, false }

// mayWrite returns nil. A missing permission shows when a file is created.
func mayWrite(string) error { return nil }
