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

// NewReceiver starts a receiver, which is closed at the end of the test.
func NewReceiver(t *testing.T) *Receiver {
	t.Helper()
	open := make(chan struct{})
	r := &Receiver{Arrived: make(chan string, 1024), Release: sync.OnceFunc(func() { close(open) })}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, callback *http.Request) {
		r.Arrived <- callback.Header.Get("Foliot-Task")
		select {
		case <-open:
		case <-callback.Context().Done():
		}
	}))
	t.Cleanup(r.Close)
	t.Cleanup(r.Release)
	return r
}

func (r *Receiver) Next(t *testing.T) string {
	t.Helper()
	select {
	case name := <-r.Arrived:
		return name
	case <-time.After(Patience):
		t.Fatal("no callback came")
		return ""
	}
}
