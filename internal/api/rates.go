package api

import (
	"errors"
	"net/http"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

func (r *request) quotas() *settings.NamespaceSettings { return r.settings.Namespace(r.namespace) }

// checkRate takes units of a rate of r's namespace as admission.Gate.TakeAll does, or
// sets Retry-After and returns the refusal.
func (s *Server) checkRate(w http.ResponseWriter, r *request, rate settings.Rate, units int) error {
	n := r.quotas()
	if wait := s.gate.TakeAll(n, rate, units, time.Now()); wait > 0 {
		return waitFor(w, wait, overRate(n, rate))
	}
	return nil
}

// takeRate takes a unit of the rate that c counts for. If none is left, it returns
// the refusal, and the time until c can be repeated. A put takes a create; if it
// replaces a record, changed takes a change afterwards, so takeRate refuses the put
// while no change is available.
func (s *Server) takeRate(r *request, c task.Change) (wait time.Duration, err error) {
	n, rate, now := r.quotas(), settings.ChangeRate, time.Now()
	switch c.(type) {
	case task.Replace, task.PutSchedule:
		if wait = s.gate.Wait(n, rate, now); wait > 0 {
			return wait, overRate(n, rate)
		}
		rate = settings.CreateRate
	case task.Create, task.Repeat:
		rate = settings.CreateRate
	}
	taken, wait := s.gate.Take(n, rate, 1, now)
	if taken == 0 {
		err = overRate(n, rate)
	}
	return wait, err
}

// checkChangeRate is checkRate for a request whose number of changes is not known
// yet, and takes none, because changed takes them afterwards.
func (s *Server) checkChangeRate(w http.ResponseWriter, r *request) error {
	n := r.quotas()
	if wait := s.gate.Wait(n, settings.ChangeRate, time.Now()); wait > 0 {
		return waitFor(w, wait, overRate(n, settings.ChangeRate))
	}
	return nil
}

func (s *Server) changed(r *request, n int) {
	s.gate.Debit(r.quotas(), settings.ChangeRate, n, time.Now())
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
