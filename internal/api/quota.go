package api

import (
	"errors"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tokenbucket"
)

// rates bounds the rates at which each namespace creates, changes, reads and edits
// at this server. The store bounds the number and bytes of tasks. The zero value
// is ready.
type rates struct {
	mu      sync.Mutex // guards buckets
	buckets map[rateKey]*tokenbucket.Bucket
}

type rateKey struct {
	namespace string
	rate      settings.Rate
}

// take takes up to n units of a rate for the namespace. It returns the number
// taken and, if that is less than n, the time until the next unit.
func (r *rates) take(ns *settings.NamespaceSettings, rate settings.Rate, n int, now time.Time) (taken int, wait time.Duration) {
	taken = n
	r.limited(ns, rate, func(b *tokenbucket.Bucket, l settings.RateLimit) {
		taken, wait = b.Take(now, n, l.PerSecond, l.Burst)
	})
	return taken, wait
}

// wait returns the time until a unit is available. It takes none.
func (r *rates) wait(ns *settings.NamespaceSettings, rate settings.Rate, now time.Time) (wait time.Duration) {
	r.limited(ns, rate, func(b *tokenbucket.Bucket, l settings.RateLimit) { wait = b.Wait(now, l.PerSecond, l.Burst) })
	return wait
}

// freeRefusal takes one of the 20 refusals a second that namespace gets without a
// delay. It reports whether one was left.
func (r *rates) freeRefusal(namespace string, now time.Time) bool {
	const each = 20
	r.mu.Lock()
	defer r.mu.Unlock()
	taken, _ := r.bucketLocked(rateKey{namespace, "refusals"}).Take(now, 1, each, each)
	return taken == 1
}

// debit takes n units even if they are not available. In that case later requests
// wait for them, for at most a minute, so that one request does not stop the
// namespace for a day.
func (r *rates) debit(ns *settings.NamespaceSettings, rate settings.Rate, n int, now time.Time) {
	const longest = 60 // seconds
	r.limited(ns, rate, func(b *tokenbucket.Bucket, l settings.RateLimit) {
		b.Overdraw(now, n, l.PerSecond, l.Burst+longest*l.PerSecond)
	})
}

// takeAll takes n units if one is available, and later requests wait for the
// rest. If none is available, it takes none and returns the time until one is.
func (r *rates) takeAll(ns *settings.NamespaceSettings, rate settings.Rate, n int, now time.Time) (wait time.Duration) {
	if n == 0 {
		return 0
	}
	r.limited(ns, rate, func(b *tokenbucket.Bucket, l settings.RateLimit) {
		var taken int
		if taken, wait = b.Take(now, 1, l.PerSecond, l.Burst); taken == 1 {
			b.Overdraw(now, n-1, l.PerSecond, math.Inf(1))
		}
	})
	return wait
}

// limited calls use with the bucket of a rate, unless the rate has no limit.
func (r *rates) limited(ns *settings.NamespaceSettings, rate settings.Rate, use func(*tokenbucket.Bucket, settings.RateLimit)) {
	limit := ns.Limit(rate)
	if limit.None() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	use(r.bucketLocked(rateKey{ns.Name, rate}), limit)
}

func (r *rates) bucketLocked(key rateKey) *tokenbucket.Bucket {
	b := r.buckets[key]
	if b == nil {
		if r.buckets == nil {
			r.buckets = map[rateKey]*tokenbucket.Bucket{}
		}
		b = new(tokenbucket.Bucket)
		r.buckets[key] = b
	}
	return b
}

// quotas returns the settings of r's namespace.
func (r *request) quotas() *settings.NamespaceSettings { return r.settings.Namespace(r.namespace) }

// checkRate takes one unit of a rate of r's namespace. If none is left, it sets
// Retry-After and returns the refusal.
func (s *Server) checkRate(w http.ResponseWriter, r *request, rate settings.Rate) error {
	n := r.quotas()
	if taken, wait := s.rates.take(n, rate, 1, time.Now()); taken == 0 {
		return waitFor(w, wait, overRate(n, rate))
	}
	return nil
}

// checkCreateRate is checkRate for a request that creates many tasks. It accepts
// the request if one create is allowed. A stricter rule would never accept a
// request with more creates than the burst.
func (s *Server) checkCreateRate(w http.ResponseWriter, r *request, creates int) error {
	n := r.quotas()
	if wait := s.rates.takeAll(n, settings.CreateRate, creates, time.Now()); wait > 0 {
		return waitFor(w, wait, overRate(n, settings.CreateRate))
	}
	return nil
}

// checkPutRate is checkRate for a PUT. It takes a create. For a PUT that replaces a
// record, changed takes a change afterwards, so checkPutRate refuses the PUT
// while no change is available.
func (s *Server) checkPutRate(w http.ResponseWriter, r *request) error {
	if err := s.checkChangeRate(w, r); err != nil {
		return err
	}
	return s.checkRate(w, r, settings.CreateRate)
}

// checkChangeRate is checkRate for a request whose number of changes is not known
// yet. It takes none, because changed takes them afterwards.
func (s *Server) checkChangeRate(w http.ResponseWriter, r *request) error {
	n := r.quotas()
	if wait := s.rates.wait(n, settings.ChangeRate, time.Now()); wait > 0 {
		return waitFor(w, wait, overRate(n, settings.ChangeRate))
	}
	return nil
}

// changed takes n changes after they were made.
func (s *Server) changed(r *request, n int) {
	s.rates.debit(r.quotas(), settings.ChangeRate, n, time.Now())
}

func overRate(n *settings.NamespaceSettings, rate settings.Rate) error {
	return &settings.RateError{Namespace: n.Name, Rate: rate, Limit: n.Limit(rate).PerSecond}
}

// refusedWhole reports whether err means that the store made no part of the
// change.
func refusedWhole(err error) bool {
	var quota *task.QuotaError
	var rate *settings.RateError
	return errors.As(err, &quota) || errors.As(err, &rate) || errors.Is(err, task.ErrFull) || errors.Is(err, task.ErrSuspended)
}
