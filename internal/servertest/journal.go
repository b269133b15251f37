package servertest

import (
	"bytes"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/redact"
)

// Journal is a log that a test reads while servers write to it.
type Journal struct {
	mu      sync.Mutex // guards text
	text    bytes.Buffer
	written sync.Cond
}

func NewJournal() *Journal {
	j := new(Journal)
	j.written.L = &j.mu
	return j
}

func (j *Journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.written.Broadcast()
	return j.text.Write(p)
}

func (j *Journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// Await waits until text was written, and fails the test after Patience.
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
			t.Fatalf("%q was not logged:\n%s", text, &j.text)
		}
		j.written.Wait()
	}
}

// Logger returns a logger that writes to the journal.
func (j *Journal) Logger() *slog.Logger { return redact.NewLogger(j, "text", "debug") }
