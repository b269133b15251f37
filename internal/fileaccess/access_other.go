//go:build !unix

package fileaccess

import "io/fs"

// KeepPrivate does nothing: here, files have no such modes.
func KeepPrivate() {}

// accessOf reports false: here, files have no such modes and owners.
func accessOf(fs.FileInfo) (access, bool) { return access{}, false }

// mayWrite returns nil: whether files can be made shows when they are.
func mayWrite(string) error { return nil }
