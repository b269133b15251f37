// Package outgoing sends the requests of a node: with the signing secrets of its
// settings, and never to its own API, its store or the other nodes. The server
// and Go programs that embed Foliot send with it.
package outgoing
