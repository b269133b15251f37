package servertest

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// Receiver is a receiver that replies only after Release was called.
type Receiver struct {
	*httptest.Server
	Arrived chan string // the names of the tasks, in the order of their callbacks
	Release func()      // replies to all callbacks from now on
}

// NewReceiver starts a receiver. It is closed at the end of the test.
func NewReceiver(t *testing.T) *Receiver {
	t.Helper()
	open := make(chan struct{})
	h := &Receiver{Arrived: make(chan string, 1024), Release: sync.OnceFunc(func() { close(open) })}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.Arrived <- r.Header.Get("Foliot-Task")
		select {
		case <-open:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(h.Close)
	t.Cleanup(h.Release)
	return h
}

// Next returns the name of the next callback.
func (h *Receiver) Next(t *testing.T) string {
	t.Helper()
	select {
	case name := <-h.Arrived:
		return name
	case <-time.After(Patience):
		t.Fatal("no callback came")
		return ""
	}
}
