package api

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tokenbucket"
)

// The limits of the audit entries that refusals make in a minute: refusalsOfOne
// for each namespace and for unknown tokens, and refusalsOfAll in total. Further
// refusals of a namespace are counted in one entry, so no client can fill the log
// or the disk with guesses.
const (
	refusalsOfOne = 10
	refusalsOfAll = 50
)

// refusals collects requests that were refused because of their token, for the
// audit log, grouped by address, token and route. The zero value is ready.
type refusals struct {
	mu   sync.Mutex                       // guards everything below
	seen map[settings.AuditEntry]*refused // by their entry, without its time and number
	of   map[string]int                   // number of entries with a detail, by namespace
}

type refused struct {
	times int64
	first time.Time
}

func (l *refusals) note(e settings.AuditEntry, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil {
		l.seen, l.of = map[settings.AuditEntry]*refused{}, map[string]int{}
	}
	if l.seen[e] == nil && (l.of[e.Namespace] >= refusalsOfOne || len(l.seen) >= refusalsOfAll) {
		e = settings.AuditEntry{By: "unknown", Namespace: e.Namespace, Action: e.Action}
	}
	r := l.seen[e]
	if r == nil {
		r = &refused{first: now}
		l.seen[e] = r
		if e.Detail != "" {
			l.of[e.Namespace]++
		}
	}
	r.times++
}

// take returns the entries of the refusals since the last call, and clears
// them.
func (l *refusals) take(now task.Millis) (entries []settings.AuditEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for e, r := range l.seen {
		since := r.first.UTC().Format(time.RFC3339)
		if e.Detail == "" {
			e.Detail = fmt.Sprintf("%d more since %s, with other addresses, tokens or routes", r.times, since)
		} else {
			e.Detail = fmt.Sprintf("%s, %s since %s", e.Detail, times(r.times), since)
		}
		e.At = now
		entries = append(entries, e)
	}
	l.seen, l.of = nil, nil
	slices.SortFunc(entries, func(a, b settings.AuditEntry) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Detail, b.Detail))
	})
	return entries
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// Refusals returns the refusals of tokens since the last call as entries for
// Store.Record, and clears them. No entry contains a token.
func (s *Server) Refusals() []settings.AuditEntry { return s.refusals.take(s.now()) }

// noteRefusal counts a request that was refused because of its token. token is
// nil if it is unknown.
func (s *Server) noteRefusal(r *http.Request, rt *route, action string, token *settings.AccessToken, addr netip.Addr, err error) {
	e := settings.AuditEntry{By: "unknown", Addr: tokenbucket.ClientOf(addr).String(), Action: action, Detail: r.Method + " " + rt.path + ": " + problemOf(err).Code}
	if token != nil {
		e.Namespace, e.Target, e.By = token.Namespace, token.ID, token.Author()
	}
	s.refusals.note(e, s.cfg.Now())
}
