// Package admin serves the HTTP API and the web page of Foliot inside a Go
// program, for its operators: they see which tasks wait and why, and can move,
// run, retry and cancel them. The command line works with it too:
//
//	http.Handle("/timers/", http.StripPrefix("/timers", admin.Handler(node, allow)))
//
//	foliot ls --server https://shop.example/timers
//
// The page is at /timers/ui/. The package links the libraries of the API, which
// a program without it does not.
package admin
