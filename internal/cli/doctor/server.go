package doctor

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/redischeck"
)

const (
	// lateBound is the p99 lateness above which the finding is bad: ten times the
	// promised lateness.
	lateBound = 100 * time.Millisecond
	// lateSample is the number of attempts needed to judge lateness. With fewer, a
	// single attempt decides the p99.
	lateSample = 100
	// certificateBound is the remaining validity of a certificate below which
	// the finding is bad. The server warns at the same time. For a certificate
	// that is valid for days only, the bound is its validity divided by
	// certificateShare: programs renew such certificates.
	certificateBound = 14 * 24 * time.Hour
	certificateShare = 5
	// overdueBound is how long a task may be overdue before it is reported.
	overdueBound = 5 * time.Second
)

// caller knows how the command calls the server.
type caller interface {
	// Scope returns the namespace of the requests, and reports all if an
	// operator has chosen no namespace.
	Scope(ctx context.Context, api *client.Client) (namespace string, all bool, err error)
	// ServerCertificate returns the certificate of the server, or nil without TLS.
	ServerCertificate() *x509.Certificate
}

// Server examines a running server.
func Server(ctx context.Context, api *client.Client, caller caller, f *Report) error {
	began := time.Now()
	live, err := admin.New(api).Live(ctx)
	if errors.Is(err, client.ErrUnavailable) {
		f.add("ready", false, "the server refuses requests: %s", f.why(err))
		f.store(ctx, api) // a server answers this even while its store is unavailable
		f.unknown()
		return f.end()
	}
	if err != nil {
		return err
	}
	f.certificate(caller.ServerCertificate(), began)
	f.clock(live.Now, began, time.Since(began))
	shared, err := f.servers(ctx, api)
	if err == nil {
		namespace, all, refused := caller.Scope(ctx, api)
		if refused != nil {
			return refused
		}
		f.namespace = namespace
		err = f.dead(ctx, api, all)
	}
	if err == nil {
		err = f.schedules(ctx, api, live.At)
	}
	f.live(live)
	if err != nil {
		f.unknown()
	} else {
		f.overdue(live, shared)
	}
	return f.end()
}

// unknown adds the findings that need the store while it is unavailable.
func (r *Report) unknown() {
	for _, check := range []string{"overdue", "schedules", "dead"} {
		r.add(check, false, "unknown while the store is unavailable")
	}
}

// certificate reports when the certificate of the server expires. Without TLS
// there is none.
func (r *Report) certificate(c *x509.Certificate, now time.Time) {
	if c == nil {
		return
	}
	remedy := ""
	left := c.NotAfter.Sub(now)
	if left < min(certificateBound, c.NotAfter.Sub(c.NotBefore)/certificateShare) {
		remedy = ": renew it, or no client can connect after that"
	}
	rest := fmt.Sprintf("%d days", int(left/(24*time.Hour)))
	if left < 48*time.Hour {
		rest = wording.Span(left.Round(time.Minute))
	}
	r.add("certificate", remedy == "", "it expires %s, in %s%s", wording.Instant(c.NotAfter), rest, remedy)
}

// clock compares the clocks. The server read its time at after began, and
// before the request took trip.
func (r *Report) clock(at, began time.Time, trip time.Duration) {
	apart := time.Duration(0)
	switch {
	case at.Before(began):
		apart = at.Sub(began)
	case at.After(began.Add(trip)):
		apart = at.Sub(began.Add(trip))
	}
	apart = apart.Round(time.Millisecond)
	if apart.Abs() <= redischeck.ClockBound {
		r.add("clock", true, "this machine and the server differ by at most %v", max(apart.Abs(), trip.Round(time.Millisecond)))
		return
	}
	r.add("clock", false, "the clock of the server differs by %v from this machine, so absolute times mean different moments: synchronise both clocks (chrony, systemd-timesyncd)", apart)
}

func (r *Report) live(l *admin.Live) {
	r.lateness(l.Late)
	if l.Slots > 0 {
		r.add("slots", l.Running < l.Slots, "%d of %d in use; when all are in use, attempts wait (--concurrency sets the number)", l.Running, l.Slots)
	}
	if len(l.Suspended) > 0 {
		r.add("suspended", true, "these namespaces are suspended, and deliver and fire nothing: %s; resume one with foliot namespace set NAME --no-suspended", strings.Join(l.Suspended, ", "))
	}
	type broken struct {
		overdue int
		users   []string
	}
	hosts := map[string]broken{}
	for _, d := range l.Destinations {
		if d.Breaker != "" && d.Breaker != "closed" {
			b := hosts[d.Destination]
			hosts[d.Destination] = broken{b.overdue + d.Overdue, append(b.users, d.Namespace)}
		}
	}
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		b := hosts[host]
		r.add("breaker", false, "%s failed repeatedly, so its breaker is not closed: %s of %s wait and use no attempts. Correct the receiver; foliot tail shows its errors", host, wording.Count(b.overdue, "due task"), strings.Join(b.users, ", "))
	}
}

// overdue reports overdue tasks. A server with a shared store only knows the
// tasks of its own shards.
func (r *Report) overdue(l *admin.Live, shared bool) {
	overdue := 0
	for _, q := range l.Queues {
		queue := wording.Qualified(q.Namespace, q.Queue)
		switch held := q.LimitedBy == "suspended" || q.LimitedBy == "pause" || q.LimitedBy == "purge"; {
		case held:
			r.add("held", true, "the tasks of %s are not sent: %s; foliot queue get shows more", queue, q.LimitedBy)
			continue
		case q.LimitedBy == "runner":
			overdue++
			why := "but no process runs them: start a process with a handler for the kind, or cancel the tasks"
			if shared {
				why = "but this server owns their shards and has no handler for the kind: if it is foliot serve, stop it, because a program must not share a store with it; otherwise add the handler, or cancel the tasks"
			}
			r.add("runner", false, "%s of %s, %s", wording.Count(q.Overdue, "due task"), queue, why)
			continue
		case q.Oldest <= overdueBound:
			continue
		}
		if overdue++; q.LimitedBy == "breaker" {
			continue // the finding breaker counts them
		}
		r.add("overdue", false, "%s of %s, the oldest for %v; waiting for: %s", wording.Count(q.Overdue, "task"), queue, wording.Age(q.Oldest), cmp.Or(q.LimitedBy, "their turn"))
	}
	where := ""
	if shared {
		where = " in the shards of this server"
	}
	if overdue == 0 {
		r.add("overdue", true, "no task for longer than %s%s", wording.Span(overdueBound), where)
	}
}

func (r *Report) lateness(l admin.Lateness) {
	inTime, advice := true, ""
	switch {
	case l.Count == 0:
		return
	case l.Count < lateSample:
		advice = fmt.Sprintf("; too few attempts to judge: %d", l.Count)
	case l.P99 > lateBound:
		inTime = false
		advice = fmt.Sprintf("; a p99 above %v can come from a restart, a slow disk, Redis or PostgreSQL, or a busy machine: foliot top shows more", lateBound)
	}
	r.add("lateness", inTime, "in the last minute: %s over %s%s", wording.Lateness(l), wording.Count(l.Count, "attempt"), advice)
}

// dead reports the number of dead tasks, of all namespaces if all is set. An error
// means that the store is unavailable.
func (r *Report) dead(ctx context.Context, api *client.Client, all bool) (unavailable error) {
	var found []string
	count := func(name string, n int64) {
		if n > 0 {
			found = append(found, fmt.Sprintf("%d in %s", n, name))
		}
	}
	where := "the namespace " + r.namespace
	if all {
		where = "any namespace"
		for n, err := range admin.New(api).Namespaces.List(ctx) {
			if err != nil {
				return r.unread("dead", err)
			}
			r.others = r.others || n.Name != r.namespace
			count(n.Name, n.Counts.Dead)
		}
	} else {
		var dead int64
		for q, err := range api.Queues.List(ctx) {
			if err != nil {
				return r.unread("dead", err)
			}
			dead += q.Counts.Dead
		}
		count(r.namespace, dead)
	}
	if len(found) == 0 {
		r.add("dead", true, "no task of %s is dead", where)
		return nil
	}
	const shown = 5
	rest := ""
	if more := len(found) - shown; more > 0 {
		rest = fmt.Sprintf(", and others in %d more namespaces", more)
	}
	r.warn("dead", "dead tasks: %s%s; foliot ls --state dead --sort ended --namespace NAME shows the reasons", strings.Join(found[:min(shown, len(found))], ", "), rest)
	return nil
}

// unread returns err if the store is unavailable. Otherwise it adds the finding
// that the records cannot be read.
func (r *Report) unread(check string, err error) (unavailable error) {
	if errors.Is(err, client.ErrUnavailable) {
		return err
	}
	r.add(check, false, "cannot be read: %s", r.why(err))
	return nil
}
