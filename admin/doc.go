// Package admin serves the HTTP API and the web page of Foliot inside a Go
// program. With them, operators see which tasks wait and why, and can move,
// run, retry and cancel tasks. The command line uses the same API:
//
//	http.Handle("/timers/", http.StripPrefix("/timers", admin.New(node, allow)))
//
//	foliot ls --server https://shop.example/timers
//
// The page is at /timers/ui/. Only programs that import this package link the
// libraries of the API.
package admin
