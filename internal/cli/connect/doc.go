// Package connect has the flags that choose a server and its credentials, and
// opens a client for that server.
package connect
