package main

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

// receiver is where the callbacks go. It writes each into its journal, synced,
// before it answers 200. close stops its server and waits.
type receiver struct {
	log  *journal.Journal
	http *http.Server
	addr string
	done chan struct{}

	// before is called with each callback before it is logged; nil does nothing.
	before func(name string)

	// accept returns the status to answer; what it does not accept is not
	// logged. nil accepts everything, with a 200.
	accept func(req *http.Request) int

	mu   sync.Mutex // guards everything below
	seen map[string]int
	open int // requests under way
	most int // of them at once
}

func openReceiver(path string) (*receiver, error) {
	log, err := journal.Open(path)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		_ = log.Close() // the listener's error is the one to tell
		return nil, err
	}
	r := &receiver{log: log, addr: l.Addr().String(), done: make(chan struct{}), seen: map[string]int{}}
	r.http = &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(r.done)
		_ = r.http.Serve(l) // ErrServerClosed, by close
	}()
	return r, nil
}

func (r *receiver) url() string { return "http://" + r.addr + "/" }

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	at := time.Now()
	r.enter()
	defer r.leave() // before the reply is written: the next request comes after that
	name := req.Header.Get("Foliot-Task")
	if r.before != nil {
		r.before(name)
	}
	if r.accept != nil {
		if status := r.accept(req); status != http.StatusOK {
			w.WriteHeader(status)
			return
		}
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

func (r *receiver) enter() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open++
	r.most = max(r.most, r.open)
}

func (r *receiver) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open--
}

// mostOpen returns how many requests were under way at once, at most.
func (r *receiver) mostOpen() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.most
}

// arrivals returns how often a task has arrived so far.
func (r *receiver) arrivals(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen[name]
}

// awaitAll returns when every name has arrived, or when ctx ends or patience
// does, with how many are missing.
func (r *receiver) awaitAll(ctx context.Context, names []string, patience time.Duration) int {
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
func (r *receiver) missing(names []string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(names, func(name string) bool { return r.seen[name] > 0 })
}

func (r *receiver) close() error {
	r.http.Close()
	<-r.done
	return r.log.Close()
}
