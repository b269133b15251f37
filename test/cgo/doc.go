// Package cgo tests that a server that was built with C and one that was built
// without it, as the released binaries are, read the data directories of each
// other. Pebble links different implementations of zstd into the two. Today the
// store compresses with Snappy, which is the same in both.
package cgo
