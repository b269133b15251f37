// Package decode reads JSON strictly and in one pass, for documents that clients
// send. Its callers read the fields of their types with the methods of Reader.
//
// It refuses a value as soon as it exceeds its limit, and lets other goroutines
// run while it reads a large document.
package decode
