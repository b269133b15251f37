// Package decode reads JSON strictly and in one pass, for documents that clients
// send. Its callers read the fields of their types with the methods of Reader.
//
// It bounds values before they are complete, and lets other goroutines run
// during large documents.
package decode
