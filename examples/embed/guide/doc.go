// Package guide holds the code of docs/embedding.md that no example program
// shows, so that it is compiled and tested. The test of package snippets
// compares both.
package guide
