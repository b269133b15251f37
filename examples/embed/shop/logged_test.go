package main

import (
	"bytes"
	"log"
	"os"
	"sync"
	"testing"
)

// lines is the text that package log has written since collect.
type lines struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

// collect collects until the test ends.
func collect(t *testing.T) *lines {
	l := new(lines)
	flags := log.Flags()
	log.SetFlags(0)
	log.SetOutput(l)
	t.Cleanup(func() {
		log.SetFlags(flags)
		log.SetOutput(os.Stderr)
	})
	return l
}

// Write implements io.Writer.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// String returns the lines.
func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
