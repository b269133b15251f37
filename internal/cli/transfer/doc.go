// Package transfer has the commands that move many records: import and export of
// lines, backup and restore of a data directory, and migration between stores.
package transfer
