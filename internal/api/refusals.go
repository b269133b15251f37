package api

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// How many entries of the audit log the refusals of a minute can make: of each namespace
// and of unknown tokens so many, and so many of all. Further refusals are counted, in one
// entry of the namespace, so no client can fill the log or the disk with guesses.
const (
	refusalsOfOne = 10
	refusalsOfAll = 50
)

// refusals collects the requests that were refused because of their token, for the audit
// log: by address, token and route. The zero value is ready.
type refusals struct {
	mu     sync.Mutex // guards everything below
	seen   map[refusal]*refused
	of     map[string]int       // keys of seen by namespace
	beyond map[refusal]*refused // with namespace and action alone
}

// refusal is the common part of the refusals of one entry.
type refusal struct {
	action    string
	namespace string // the token's; "" if the token is unknown
	token     string // its ID; "": it is unknown
	addr      netip.Addr
	route     string // "GET /v1/backup"
	code      string // of the problem
}

type refused struct {
	times int64
	first time.Time
}

// note counts a refusal.
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

// take returns the entries of refusals since the last call, and forgets these.
func (l *refusals) take(now task.Millis) (entries []task.AuditEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, r := range l.seen {
		e := task.AuditEntry{At: now, By: "unknown", Addr: k.addr.String(), Namespace: k.namespace, Action: k.action, Target: k.token}
		if k.token != "" {
			e.By = "token:" + k.token
		}
		e.Detail = fmt.Sprintf("%s: %s, %s since %s", k.route, k.code, times(r.times), r.first.UTC().Format(time.RFC3339))
		entries = append(entries, e)
	}
	for k, r := range l.beyond {
		entries = append(entries, task.AuditEntry{
			At: now, By: "unknown", Namespace: k.namespace, Action: k.action,
			Detail: fmt.Sprintf("%d more since %s, of other addresses, tokens or routes", r.times, r.first.UTC().Format(time.RFC3339)),
		})
	}
	l.seen, l.of, l.beyond = nil, nil, nil
	slices.SortFunc(entries, func(a, b task.AuditEntry) int {
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

// Refusals returns, as entries for Registry.Record, which tokens were refused since the
// last call, and forgets it. No entry holds a token.
func (s *Server) Refusals() []task.AuditEntry { return s.refusals.take(s.now()) }

// noteRefusal counts a request that was refused because of its token. token is nil if it is
// unknown.
func (s *Server) noteRefusal(r *http.Request, rt *route, action string, token *task.AccessToken, addr netip.Addr, err error) {
	k := refusal{action: action, addr: network(addr), route: r.Method + " " + rt.path, code: problemOf(err).Code}
	if token != nil {
		k.namespace, k.token = token.Namespace, token.ID
	}
	s.refusals.note(k, s.cfg.Now())
}
