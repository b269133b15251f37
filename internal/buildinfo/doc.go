// Package buildinfo returns the version of the running Foliot.
package buildinfo
