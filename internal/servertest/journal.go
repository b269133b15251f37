package servertest

import (
	"bytes"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/redact"
)

// Journal is a log that a test reads while others write.
type Journal struct {
	mu      sync.Mutex // guards what follows
	text    bytes.Buffer
	written sync.Cond
}

// NewJournal returns an empty journal.
func NewJournal() *Journal {
	j := new(Journal)
	j.written.L = &j.mu
	return j
}

// Write implements io.Writer.
func (j *Journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.written.Broadcast()
	return j.text.Write(p)
}

// String returns what was written.
func (j *Journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// Await returns when text was written.
func (j *Journal) Await(t *testing.T, text string) {
	t.Helper()
	late := false
	defer time.AfterFunc(Patience, func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		late = true
		j.written.Broadcast()
	}).Stop()
	j.mu.Lock()
	defer j.mu.Unlock()
	for !bytes.Contains(j.text.Bytes(), []byte(text)) {
		if late {
			t.Fatalf("nobody wrote %q:\n%s", text, &j.text)
		}
		j.written.Wait()
	}
}

// Logger returns a logger that writes into the journal.
func (j *Journal) Logger() *slog.Logger { return redact.NewLogger(j, "text", "debug") }
