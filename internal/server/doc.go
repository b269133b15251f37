// Package server runs a node behind its listener, with the API, the sender of
// requests, metrics and traces. It opens the node with a checked configuration,
// and ends after the last connection was closed.
package server
