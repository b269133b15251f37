// Package httpserver serves a handler to clients: TLS with certificates that
// are reloaded, trusted proxies, bounds on connections, the access log.
package httpserver
