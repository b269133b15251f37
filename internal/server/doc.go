// Package server runs a node behind its listener: from a checked configuration
// to the last connection.
package server
