// Package httpserver serves a handler to clients. It reloads TLS certificates,
// trusts the headers of configured proxies, bounds the connections and writes the
// access log.
package httpserver
