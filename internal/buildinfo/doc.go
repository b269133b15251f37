// Package buildinfo says which version of Foliot is running.
package buildinfo
