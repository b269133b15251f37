// Package cgo tests that a server built with C and a server built without C
// read the data directories of each other. The released binaries are built
// without C. Pebble links different implementations of zstd into the two. Today
// the store compresses with Snappy, which is the same in both.
package cgo
