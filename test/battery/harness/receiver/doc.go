// Package receiver has the HTTP servers that callbacks go to.
//
// A Receiver writes each callback to its log before it replies. A Fast receiver
// runs in a process of its own and buffers its log, so that it can receive
// millions of callbacks. A HangServer never replies.
package receiver
