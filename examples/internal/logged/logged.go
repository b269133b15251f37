// Package logged collects the lines that an example logs during a test.
package logged

import (
	"bytes"
	"log"
	"os"
	"sync"
	"testing"
)

// Lines is the text that package log has written since Collect.
type Lines struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

// Collect collects until the test ends.
func Collect(t *testing.T) *Lines {
	l := new(Lines)
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
func (l *Lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// String returns the lines.
func (l *Lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
