//go:build !unix

package main

import "io/fs"

// keepPrivate does nothing: here, files have no such modes.
func keepPrivate() {}

// accessOf reports false: here, files have no such modes and owners.
func accessOf(fs.FileInfo) (access, bool) { return access{}, false }

// mayWrite returns nil: whether files can be made shows when they are.
func mayWrite(string) error { return nil }

// fileLimit returns how many descriptors this process may have open: here, no
// number is set.
func fileLimit() uint64 { return manyDescriptors }
