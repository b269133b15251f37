// Package httpserver serves a handler to clients. It reloads TLS certificates,
// finds the client behind trusted proxies, and bounds the connections.
package httpserver
