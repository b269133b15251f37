package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/api/admission"
	"github.com/foliot/foliot/internal/api/decode"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// Handlers return errors; the tables of this package map each error to HTTP, and
// fail writes it as a problem. No error reaches a client in another way.

// sentinels maps the errors of the store contract to codes.
var sentinels = []struct {
	err  error
	code string
}{
	{task.ErrNotFound, "not_found"},
	{task.ErrExists, "exists"},
	{task.ErrIdempotencyReuse, "idempotency_key_reused"},
	{task.ErrPrecondition, "precondition_failed"},
	{settings.ErrLastToken, "last_admin_token"},
	{settings.ErrFirstToken, "first_token"},
	{settings.ErrSecured, "token_required"},
	{store.ErrLastNode, "last_node"},
	{task.ErrStoreUnfit, "store_unfit"}, // before ErrFull, which it wraps
	{task.ErrFull, "capacity"},
	{task.ErrSuspended, "namespace_suspended"},
	{task.ErrNotDurable, "durability_not_met"},
	{task.ErrStoreReplaced, "store_replaced"},
	{task.ErrSettingsLost, "settings_lost"},
	{task.ErrUnavailable, "unavailable"},
	{task.ErrClosed, "unavailable"},
	{admission.ErrBusy, "too_many_at_once"},
}

// remedies has the end of a detail in words of the API, because the errors
// themselves know neither the API nor the CLI.
var remedies = map[error]string{
	settings.ErrFirstToken: `: send {"namespace": "*", "scope": "admin"}`,
	settings.ErrLastToken: ": create another one first, or send force=true; after that, only a user of the data directory can create a new one, " +
		"while the server is stopped",
	admission.ErrBusy:  ": retry later",
	task.ErrNotDurable: ": it may have been made, so repeat it, a create by name or with its Idempotency-Key; the server's log has the reason",
	store.ErrLastNode:  ": start or undrain another node first, or send force=true",
}

// problemOf returns the problem for err. An error that is not part of the
// contract becomes "internal", and its text stays in the server.
func problemOf(err error) wire.Problem {
	var field *task.FieldError
	var state *task.StateError
	var quota *task.QuotaError
	var rate *settings.RateError
	var missing *settings.MissingError
	var busy *settings.BusyError
	var short *task.ShortError
	var locked *task.LockedError
	var exists *task.ExistsError
	var part *backfillError
	var count *countError
	var facts *factsError
	switch {
	case errors.As(err, &part):
		p := problemOf(part.err)
		p.Detail = part.withProgress(p.Detail)
		return p
	case errors.As(err, &facts):
		p := problemOf(facts.err)
		facts.add(&p)
		return p
	case errors.As(err, &field):
		return newProblem(field.Code, field.Detail, field.Path)
	case errors.As(err, &state):
		p := newProblem(state.Code, state.Error(), "")
		p.ID, p.State = state.ID, state.State.String()
		return p
	case errors.As(err, &exists):
		p := newProblem("exists", exists.Error()+". To replace it, use PUT; otherwise choose another name", "")
		p.ID, p.State = exists.ID, exists.State.String()
		return p
	case errors.As(err, &quota):
		p, limit := newProblem("quota_exceeded", quota.Error(), quota.Quota), float64(quota.Limit)
		p.Limit = &limit
		return p
	case errors.As(err, &rate):
		p := newProblem("rate_exceeded", rate.Error(), string(rate.Rate))
		p.Limit = &rate.Limit
		return p
	case errors.As(err, &count):
		p := newProblem("count_differs", count.Error(), expectParam.name)
		p.Count = &count.found
		return p
	case errors.As(err, &short):
		return newProblem("durability_not_met", short.Error(), "")
	case errors.As(err, &locked):
		return newProblem("locked", locked.Error(), "")
	case errors.As(err, &missing):
		return missingProblem(missing)
	case errors.As(err, &busy):
		p := newProblem("busy", busy.Error(), "")
		p.Kind, p.Name = busy.What, busy.Name
		return p
	case errors.Is(err, context.DeadlineExceeded):
		return newProblem("unavailable", "the store has not replied in time: a change may have been made, so repeat it, a create by name or with its Idempotency-Key", "")
	case errors.Is(err, context.Canceled):
		return newProblem("unavailable", "the request was cancelled before it ended", "")
	}
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			p := newProblem(s.code, s.err.Error()+remedies[s.err], "")
			if s.code == "not_found" {
				p.Kind = "task"
			}
			return p
		}
	}
	return newProblem("internal", "the server failed: its log has the reason", "")
}

// lists has the path that lists the records of a kind.
var lists = map[string]string{"queue": queuesPath, "schedule": schedulesPath, "node": clusterPath, "token": tokensPath, "secret": secretsPath}

func missingProblem(missing *settings.MissingError) wire.Problem {
	code, detail := "not_found", missing.Error()
	if missing.What == "namespace" {
		code = "unknown_namespace"
	} else if path := lists[missing.What]; path != "" {
		detail += ": GET " + path + " lists the existing ones"
	}
	p := newProblem(code, detail, "")
	p.Kind, p.Name = missing.What, missing.Name
	return p
}

func newProblem(code, detail, field string) wire.Problem {
	status, known := statusByCode[code]
	if !known { // a test proves that this does not happen
		status = http.StatusBadRequest
	}
	return wire.Problem{Type: wire.ProblemDocs + code, Title: http.StatusText(status), Status: status, Detail: detail, Code: code, Field: clipPath(field)}
}

// clipPath shortens the path of a field, because the path is very long for JSON
// that is nested too deep.
func clipPath(path string) string {
	const longest = 512
	if len(path) <= longest {
		return path
	}
	return strings.ToValidUTF8(path[:longest], "") + "…"
}

func refuse(code, field, detail string) error {
	return &task.FieldError{Path: field, Code: code, Detail: detail}
}

// factsError is a refusal with facts for programs: add sets further fields of
// its problem.
type factsError struct {
	err error // a *task.FieldError
	add func(*wire.Problem)
}

func (e *factsError) Within(key []byte) error { return &factsError{decode.Within(key, e.err), e.add} }

func (e *factsError) Error() string { return e.err.Error() }
func (e *factsError) Unwrap() error { return e.err }

// suggest adds to err the known name that is spelled most like a wrong name, or
// none if name is "".
func suggest(err error, name string) error {
	if name == "" {
		return err
	}
	return &factsError{err, func(p *wire.Problem) { p.Suggestion = name }}
}

func notAllowed(code, field string, words []string) error {
	err := refuse(code, field, "must be one of "+strings.Join(words, ", "))
	return &factsError{err, func(p *wire.Problem) { p.Allowed = words }}
}

// fail answers r with err, even if the client is gone, because net/http would
// otherwise send 200, and a 200 is a promise.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	s.logFailure(r, p, err)
	if soon(p) && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", "1")
	}
	if p.Status == http.StatusTooManyRequests {
		s.delayRefusal(r.Context(), w, p.Code)
	}
	s.write(r.Context(), w, wire.ProblemType, p.Status, p)
}

// soon reports whether a refused request can be repeated in a second.
func soon(p wire.Problem) bool {
	return p.Status == http.StatusServiceUnavailable || p.Code == "too_many_at_once" || p.Code == "locked"
}

// delayRefusal delays a reply with status 429, because a client that repeats at
// once would otherwise occupy a processor with refused requests. Retry-After is
// never shorter than the delay. Some refusals by a rate are not delayed, because
// they are cheap.
func (s *Server) delayRefusal(ctx context.Context, w http.ResponseWriter, code string) {
	out, ok := w.(*response)
	if !ok || s.delayed.Load() >= maxDelayed || code != "too_many_at_once" && s.gate.FreeRefusal(out.namespace, time.Now()) {
		return
	}
	s.delayed.Add(1)
	defer s.delayed.Add(-1)
	out.Leave()
	select {
	case <-time.After(refusalDelay):
	case <-ctx.Done():
	case <-s.stop:
	}
}

const (
	// refusalDelay is the delay of a refused request that is not free.
	refusalDelay = time.Second
	// maxDelayed bounds the requests that are delayed at one time.
	maxDelayed = 1 << 12
)

// logFailure logs the failure of a request, and reports whether it did. Most problems
// are not logged: a store that stopped or is unreachable has logged the reason.
func (s *Server) logFailure(r *http.Request, p wire.Problem, err error) (logged bool) {
	logged = p.Status == http.StatusInternalServerError || slices.Contains([]string{"capacity", "store_unfit", "durability_not_met"}, p.Code)
	if logged {
		s.cfg.Log.LogAttrs(r.Context(), slog.LevelError, "request failed",
			slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.String("code", p.Code), slog.Any("error", err))
	}
	return logged
}

// crashed replies to a request after a panic of its handler.
func (s *Server) crashed(ctx context.Context, w http.ResponseWriter, value any, stack []byte) {
	s.cfg.Log.LogAttrs(ctx, slog.LevelError, "request handler panicked", slog.Any("panic", value), slog.String("stack", string(stack)))
	p := problemOf(errors.New("panic"))
	s.write(ctx, w, wire.ProblemType, p.Status, p)
}
