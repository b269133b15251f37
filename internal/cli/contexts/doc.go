// Package contexts keeps the servers that a user calls in a file, by name.
package contexts
