package api

import (
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// rates bounds how fast each namespace creates tasks at this server. How many
// tasks and bytes it has is the store's to bound. The zero value is ready.
type rates struct {
	mu      sync.Mutex // guards buckets
	buckets map[string]*bucket
}

// take returns how many of n creates the namespace may make now, and how long
// it is until the next where those are fewer.
func (r *rates) take(n *task.NamespaceSettings, creates int, now time.Time) (taken int, wait time.Duration) {
	if n == nil || n.CreateRate == 0 {
		return creates, 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bucketLocked(n).take(now, creates, n.CreateRate, createBurst(n))
}

// takeAll takes n creates where there is room for one, and those that come later wait for
// what was more; otherwise it returns how long it is until there is.
func (r *rates) takeAll(n *task.NamespaceSettings, creates int, now time.Time) (wait time.Duration) {
	if n == nil || n.CreateRate == 0 || creates == 0 {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.bucketLocked(n)
	taken, wait := b.take(now, 1, n.CreateRate, createBurst(n))
	if taken == 1 {
		b.missing += float64(creates - 1)
	}
	return wait
}

func (r *rates) bucketLocked(n *task.NamespaceSettings) *bucket {
	b := r.buckets[n.Name]
	if b == nil {
		if r.buckets == nil {
			r.buckets = map[string]*bucket{}
		}
		b = new(bucket)
		r.buckets[n.Name] = b
	}
	return b
}

// createBurst is how many creates a namespace may make at once after a silence.
func createBurst(n *task.NamespaceSettings) float64 {
	if n.CreateBurst > 0 {
		return float64(n.CreateBurst)
	}
	return max(1, math.Ceil(n.CreateRate))
}

// afford takes one create out of the namespace's rate, or says when to come again.
func (s *Server) afford(w http.ResponseWriter, r *request) error {
	n := r.settings.Namespace(r.namespace)
	if taken, wait := s.rates.take(n, 1, time.Now()); taken == 0 {
		return waitFor(w, wait, overRate(n))
	}
	return nil
}

// affordAll is afford for a request that makes many: it is let in where one would be, as it
// could never be repeated where they are more than come at once.
func (s *Server) affordAll(w http.ResponseWriter, r *request, creates int) error {
	n := r.settings.Namespace(r.namespace)
	if wait := s.rates.takeAll(n, creates, time.Now()); wait > 0 {
		return waitFor(w, wait, overRate(n))
	}
	return nil
}

func overRate(n *task.NamespaceSettings) error {
	return &task.QuotaError{Namespace: n.Name, Quota: task.QuotaRate, Limit: int64(math.Ceil(n.CreateRate))}
}
