// Package httpserver serves a handler to clients: TLS with certificates that are
// read again, trusted proxies, bounds for connections, the access log.
package httpserver
