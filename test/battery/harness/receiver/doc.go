// Package receiver has the HTTP servers that callbacks go to.
//
// A Receiver syncs each callback to its log before it answers. A Fast receiver
// runs in a process of its own and syncs its log at its end: it takes millions
// of callbacks. A HangServer never answers.
package receiver
