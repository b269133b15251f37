// Package receiver receives the calls and records the time of each.
package receiver

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/bench/metric"
)

// Receiver is a server on loopback. It replies 200 to every request.
type Receiver struct {
	server *http.Server
	ended  chan error
	url    string
	now    atomic.Pointer[round]
}

// round records the calls of the current measurement.
type round struct {
	path    string
	first   []atomic.Int64 // time of each first call, in nanoseconds after began; zero means none yet
	began   time.Time
	came    atomic.Int64 // number of tasks that were called
	doubled atomic.Int64
	all     chan struct{} // closed when every task was called
}

// New starts a receiver.
func New() (*Receiver, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the calls: %w", err)
	}
	r := &Receiver{url: "http://" + l.Addr().String(), ended: make(chan error, 1)}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: time.Minute}
	go func() { r.ended <- r.server.Serve(l) }()
	return r, nil
}

// Close stops the receiver.
func (r *Receiver) Close() {
	_ = r.server.Close() // no more replies are needed
	<-r.ended
}

// Expect starts a round of n calls. It returns their URL without the number at
// the end.
func (r *Receiver) Expect(n int) string {
	next := &round{first: make([]atomic.Int64, n), began: time.Now(), all: make(chan struct{})}
	next.path = "/" + strconv.FormatInt(next.began.UnixNano(), 36) + "/"
	r.now.Store(next)
	return r.url + next.path
}

func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	at, now := time.Now(), r.now.Load()
	_, _ = io.Copy(io.Discard, req.Body) // the body is not checked
	if now == nil || len(req.URL.Path) <= len(now.path) || req.URL.Path[:len(now.path)] != now.path {
		return // a call of an earlier round
	}
	i, err := strconv.Atoi(req.URL.Path[len(now.path):])
	if err != nil || i < 0 || i >= len(now.first) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if !now.first[i].CompareAndSwap(0, int64(at.Sub(now.began))) {
		now.doubled.Add(1)
		return
	}
	if now.came.Add(1) == int64(len(now.first)) {
		close(now.all)
	}
}

// Wait waits until every task was called, or until the given time. Calls that
// are still missing then are lost.
func (r *Receiver) Wait(ctx context.Context, until time.Time) error {
	late := time.NewTimer(time.Until(until))
	defer late.Stop()
	select {
	case <-r.now.Load().all:
	case <-late.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// Judge compares the times of the calls with the due times.
func (r *Receiver) Judge(due func(i int) time.Time, v metric.Values) {
	now := r.now.Load()
	var late []time.Duration
	first, last := int64(math.MaxInt64), int64(0)
	for i := range now.first {
		if at := now.first[i].Load(); at != 0 {
			first, last = min(first, at), max(last, at)
			late = append(late, now.began.Add(time.Duration(at)).Sub(due(i)))
		}
	}
	v[metric.Fired], v[metric.Lost], v[metric.Doubled] = float64(len(late)), float64(len(now.first)-len(late)), float64(now.doubled.Load())
	v[metric.Rate] = float64(len(late)-1) / time.Duration(last-first).Seconds()
	v.Lateness(late)
}
