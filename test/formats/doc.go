// Package formats opens stores of older versions: a data directory, a backup and
// a Redis of each format that this version must read. make.sh has written them
// with the binaries of those versions.
package formats
