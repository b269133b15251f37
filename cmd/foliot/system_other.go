//go:build !unix

package main

// keepPrivate does nothing: here, files have no such modes.
func keepPrivate() {}

// fileLimit returns how many descriptors this process may have open: here, no
// number is set.
func fileLimit() uint64 { return manyDescriptors }
