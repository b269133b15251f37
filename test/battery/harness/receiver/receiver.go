package receiver

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/foliot/foliot/test/battery/harness/journal"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// Receiver receives the callbacks. It writes each to its journal, and then
// answers 200. Close stops its server and waits for it.
type Receiver struct {
	log  *journal.Journal
	http *http.Server
	Addr string
	done chan struct{}

	// Before is called with each callback before it is logged; nil does nothing.
	Before func(name string)

	mu   sync.Mutex // guards everything below
	seen map[string]int
}

// Open starts a receiver on a free loopback port. It logs to path.
func Open(path string) (*Receiver, error) {
	log, err := journal.Open(path)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		_ = log.Close() // the error of the listener is returned
		return nil, err
	}
	r := &Receiver{log: log, Addr: l.Addr().String(), done: make(chan struct{}), seen: map[string]int{}}
	r.http = &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(r.done)
		_ = r.http.Serve(l) // ErrServerClosed, by Close
	}()
	return r, nil
}

// URL returns the URL that callbacks go to.
func (r *Receiver) URL() string { return "http://" + r.Addr + "/" }

// ServeHTTP logs a callback and answers it.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	at := time.Now()
	name := req.Header.Get("Foliot-Task")
	if r.Before != nil {
		r.Before(name)
	}
	if err := r.log.Append(verify.Arrived{Name: name, ID: req.Header.Get("Webhook-Id"), At: at}); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	r.mu.Lock()
	r.seen[name]++
	r.mu.Unlock()
	w.WriteHeader(http.StatusOK)
}

// Arrivals returns how often a task has arrived so far.
func (r *Receiver) Arrivals(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen[name]
}

// AwaitAll returns when every name has arrived, when ctx ends, or after
// patience. It returns the number of missing names.
func (r *Receiver) AwaitAll(ctx context.Context, names []string, patience time.Duration) int {
	deadline := time.Now().Add(patience)
	missing := slices.Clone(names)
	for {
		missing = r.missing(missing)
		if len(missing) == 0 || time.Now().After(deadline) || !timing.Pause(ctx, 20*time.Millisecond) {
			return len(missing)
		}
	}
}

// missing removes from names those that have arrived.
func (r *Receiver) missing(names []string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(names, func(name string) bool { return r.seen[name] > 0 })
}

// Close stops the server and closes the log.
func (r *Receiver) Close() error {
	r.http.Close()
	<-r.done
	return r.log.Close()
}
