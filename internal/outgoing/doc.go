// Package outgoing sends the requests of a node: with the signing secrets of its
// settings, and never to its store or the APIs of other nodes. The server, which
// adds its own API, and Go programs that embed Foliot send with it.
package outgoing
