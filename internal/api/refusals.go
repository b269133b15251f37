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
	mu     sync.Mutex // guards everything below
	seen   map[refusal]*refused
	of     map[string]int       // number of keys in seen, by namespace
	beyond map[refusal]*refused // its keys have only a namespace and an action
}

// refusal is the common part of the refusals in one entry.
type refusal struct {
	action    string
	namespace string // the token's; "" if the token is unknown
	token     string // its ID; empty means that it is unknown
	author    string // AccessToken.Author, or "unknown"
	addr      netip.Addr
	route     string // "GET /v1/backup"
	code      string // of the problem
}

type refused struct {
	times int64
	first time.Time
}

func (l *refusals) note(k refusal, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil {
		l.seen, l.of, l.beyond = map[refusal]*refused{}, map[string]int{}, map[refusal]*refused{}
	}
	into := l.seen
	if into[k] == nil && (l.of[k.namespace] >= refusalsOfOne || len(l.seen) >= refusalsOfAll) {
		k, into = refusal{action: k.action, namespace: k.namespace}, l.beyond
	}
	r := into[k]
	if r == nil {
		r = &refused{first: now}
		into[k] = r
		if k.route != "" {
			l.of[k.namespace]++
		}
	}
	r.times++
}

// take returns the entries of the refusals since the last call, and clears
// them.
func (l *refusals) take(now task.Millis) (entries []settings.AuditEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, r := range l.seen {
		e := settings.AuditEntry{At: now, By: k.author, Addr: k.addr.String(), Namespace: k.namespace, Action: k.action, Target: k.token}
		e.Detail = fmt.Sprintf("%s: %s, %s since %s", k.route, k.code, times(r.times), r.first.UTC().Format(time.RFC3339))
		entries = append(entries, e)
	}
	for k, r := range l.beyond {
		entries = append(entries, settings.AuditEntry{
			At: now, By: "unknown", Namespace: k.namespace, Action: k.action,
			Detail: fmt.Sprintf("%d more since %s, with other addresses, tokens or routes", r.times, r.first.UTC().Format(time.RFC3339)),
		})
	}
	l.seen, l.of, l.beyond = nil, nil, nil
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
	k := refusal{action: action, author: "unknown", addr: tokenbucket.ClientOf(addr), route: r.Method + " " + rt.path, code: problemOf(err).Code}
	if token != nil {
		k.namespace, k.token, k.author = token.Namespace, token.ID, token.Author()
	}
	s.refusals.note(k, s.cfg.Now())
}
