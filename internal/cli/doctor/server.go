package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/redischeck"
)

const (
	// lateBound is when lateness deserves a look: ten times what is promised.
	lateBound = 100 * time.Millisecond
	// lateSample is how many attempts a verdict on lateness takes: below, a single one decides the p99.
	lateSample = 100
	// overdueBound is when an overdue task that nothing holds back does.
	overdueBound = 5 * time.Second
)

// Server examines a running server.
func Server(ctx context.Context, api *client.Client, f *Report) error {
	began := time.Now()
	live, err := api.Admin.Live(ctx)
	if errors.Is(err, client.ErrUnavailable) {
		f.add("ready", false, "the server refuses requests: %s", f.why(err))
		f.store(ctx, api) // a server answers this even while its store is closed
		f.unknown()
		return f.end()
	}
	if err != nil {
		return err
	}
	f.clock(cmp.Or(live.Now, live.At), began, time.Since(began))
	shared, err := f.servers(ctx, api)
	if shared || err != nil {
		f.store(ctx, api)
	}
	if err == nil {
		err = f.schedules(ctx, api, live.At)
	}
	if err == nil {
		err = f.dead(ctx, api)
	}
	f.live(live)
	if err != nil {
		f.unknown()
	} else {
		f.overdue(live, shared)
	}
	return f.end()
}

// unknown reports findings that are unavailable while the store is away or closed.
func (f *Report) unknown() {
	for _, check := range []string{"overdue", "schedules", "dead"} {
		f.add(check, false, "not known while the store is away or closed")
	}
}

// clock compares the clocks: the server's answer was written somewhere between
// began and the end of the trip.
func (f *Report) clock(at, began time.Time, trip time.Duration) {
	apart := time.Duration(0)
	switch {
	case at.Before(began):
		apart = at.Sub(began)
	case at.After(began.Add(trip)):
		apart = at.Sub(began.Add(trip))
	}
	apart = apart.Round(time.Millisecond)
	if apart.Abs() <= redischeck.ClockBound {
		f.add("clock", true, "this machine's and the server's are within %v", max(apart.Abs(), trip.Round(time.Millisecond)))
		return
	}
	f.add("clock", false, "the server's is %v off this machine's: absolute times mean another moment there; synchronise both (chrony, systemd-timesyncd)", apart)
}

func (f *Report) live(l *client.Live) {
	f.lateness(l.Late)
	if l.Slots > 0 {
		f.add("slots", l.Running < l.Slots, "%d of %d in use; when all are, attempts wait (--concurrency)", l.Running, l.Slots)
	}
	if len(l.Suspended) > 0 {
		f.add("suspended", true, "nothing of these namespaces is delivered or fired: %s; resume one with foliot namespace set NAME --no-suspended", strings.Join(l.Suspended, ", "))
	}
	for _, d := range l.Destinations {
		if d.Breaker != "" && d.Breaker != "closed" {
			f.add("breaker", false, "%s failed again and again: %s; its tasks wait and spend no attempts", wording.Qualified(d.Namespace, d.Destination), d.Breaker)
		}
	}
}

// overdue tells what is overdue on the server that was asked: of a shared store
// it knows the tasks of its own shards alone.
func (f *Report) overdue(l *client.Live, shared bool) {
	overdue := 0
	for _, q := range l.Queues {
		if q.Oldest <= overdueBound {
			continue
		}
		overdue++
		held := q.LimitedBy == "suspended" || q.LimitedBy == "pause" || q.LimitedBy == "purge"
		f.add("overdue", held, "%d tasks of %s, the oldest for %v; they wait for: %s", q.Overdue, wording.Qualified(q.Namespace, q.Queue), wording.Age(q.Oldest), orWord(q.LimitedBy, "their turn"))
	}
	where := ""
	if shared {
		where = " in the shards of the server that was asked"
	}
	if overdue == 0 {
		f.add("overdue", true, "nothing for longer than %v%s", overdueBound, where)
	}
}

func (f *Report) lateness(l client.Lateness) {
	inTime, advice := true, ""
	switch {
	case l.Count == 0:
		return
	case l.Count < lateSample:
		advice = fmt.Sprintf("; too few attempts to judge: %d", l.Count)
	case l.P99 > lateBound:
		inTime = false
		advice = fmt.Sprintf("; a p99 above %v comes of a restart, a queue that was paused or has a limit, no free slot, or a busy machine: foliot top tells them apart", lateBound)
	}
	f.add("lateness", inTime, "of the last minute: p50 %s, p99 %s, max %s over %d attempts%s", wording.Millis(l.P50), wording.Millis(l.P99), wording.Millis(l.Max), l.Count, advice)
}

func orWord(s, word string) string {
	if s == "" {
		return word
	}
	return s
}

// dead counts the tasks that gave up. An error says that the store is away.
func (f *Report) dead(ctx context.Context, api *client.Client) (away error) {
	var dead int64
	for q, err := range api.Queues.List(ctx) {
		switch {
		case errors.Is(err, client.ErrUnavailable):
			return err
		case err != nil:
			f.add("dead", false, "cannot count: %s", f.why(err))
			return nil
		}
		dead += q.Counts.Dead
	}
	if dead == 0 {
		f.add("dead", true, "no task of this namespace gave up")
		return nil
	}
	f.add("dead", true, "%d tasks of this namespace gave up: foliot dead ls says why", dead)
	return nil
}
