// Package transfer has the commands that carry many records in and out: import
// and export of lines, backup and restore of a data directory.
package transfer
