// Package server runs a node behind its listener. It opens the node with a
// checked configuration, and ends after the last connection was closed.
package server
