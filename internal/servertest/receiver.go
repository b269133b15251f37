package servertest

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// Receiver is a receiver whose answers the test holds back.
type Receiver struct {
	*httptest.Server
	Arrived chan string // names, as they come
	Release func()      // lets every callback be answered, from now on
}

// NewReceiver starts a receiver, which ends with the test.
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
