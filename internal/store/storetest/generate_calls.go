package storetest

import (
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

func (g *generator) change() task.Change {
	n := g.IntN(20)
	switch {
	case g.IntN(8) == 0:
		return g.scheduleChange()
	case n < 7:
		c := task.Create{Spec: g.spec()}
		if g.IntN(3) == 0 {
			c.Idempotency = g.idem()
		}
		return c
	case n < 8:
		return task.Repeat{Key: g.keyOf(task.Scheduled, task.Running), Idempotency: g.idem()}
	case n < 10:
		c := task.Replace{Spec: g.spec(), If: g.precondition()}
		if g.IntN(2) == 0 {
			c.Idempotency = g.idem()
		}
		return c
	case n < 13:
		return g.patch()
	case n < 14:
		return task.Touch{Key: g.keyOf(task.Scheduled), If: g.precondition()}
	case n < 15:
		return task.Run{Key: g.keyOf(task.Scheduled), If: g.precondition()}
	case n < 17:
		return task.Revive{Key: g.keyOf(task.Dead), If: g.precondition(), Only: g.only()}
	}
	reason := ""
	if n == 19 {
		reason = task.ReasonPurged
	}
	return task.Cancel{Key: g.keyOf(task.Scheduled, task.Running, task.Dead), If: g.precondition(), Only: g.only(), Reason: reason}
}

func (g *generator) idem() *task.Idempotency {
	return idem(g.oneOf(universe.keys), g.oneOf([]string{"r1", "r1", "r2"}))
}

func (g *generator) precondition() task.Precondition {
	switch g.IntN(12) {
	case 0:
		return task.Precondition{IfMatch: []string{"*"}}
	case 1:
		return task.Precondition{IfNoneMatch: true}
	case 2:
		if t := g.record(); t != nil {
			return task.Precondition{IfMatch: []string{t.ETag()}}
		}
	}
	return task.Precondition{}
}

func (g *generator) only() *task.Filter {
	if g.IntN(4) > 0 {
		return nil
	}
	f := g.filter()
	return &f
}

func (g *generator) patch() task.Change {
	c := task.Patch{Key: g.keyOf(task.Scheduled, task.Running, task.Dead), If: g.precondition()}
	if g.IntN(2) == 0 {
		w := g.when()
		c.When = &w
	} else if g.IntN(3) == 0 {
		c.Shift = g.duration(-time.Second, time.Second, time.Hour)
	}
	c.Only = g.only()
	maybe(g, &c.Queue, g.oneOf(universe.queues))
	maybe(g, &c.Priority, task.Priority(g.IntN(4))) // one of these priorities does not exist
	maybe(g, &c.URL, g.oneOf(append(universe.urls, "ftp://x")))
	maybe(g, &c.Body, g.body())
	maybe(g, &c.ExpireAfter, g.duration(0, time.Second, -time.Second))
	maybe(g, &c.MaxAttempts, g.IntN(3))
	maybe(g, &c.MinBackoff, g.duration(time.Millisecond, 2*time.Minute))
	if g.IntN(3) == 0 {
		v := "patched"
		c.Labels = map[string]*string{"k": nil, "l": &v}
		c.Headers = map[string]*string{"x-a": nil, "X-B": &v}
	}
	return c
}

// maybe sets one patch field in five.
func maybe[T any](g *generator, field **T, v T) {
	if g.IntN(5) == 0 {
		*field = &v
	}
}

func (g *generator) claim() task.Claim {
	c := task.Claim{Key: g.key(), Lane: g.lane(), Token: task.Token(g.next("t")), Until: g.now + task.Millis(g.IntN(3000))}
	t := g.record(task.Scheduled)
	if t == nil {
		return c
	}
	for range 5 { // prefer one that is due
		if t.State == task.Scheduled && t.Due <= g.now {
			break
		}
		t = g.record(task.Scheduled)
	}
	c.Key = t.Key()
	if g.IntN(15) > 0 {
		c.Lane = t.Lane()
	}
	if t.Lease != nil && g.IntN(2) == 0 {
		c.Token = t.Lease.Token
	}
	if g.IntN(4) == 0 { // the clock seems to have been set ahead
		c.Trusted = g.now - task.Millis(g.IntN(2000))
	}
	return c
}

// held returns the key and the token of a lease, mostly one that is held.
func (g *generator) held() (task.Key, task.Token) {
	t := g.record(task.Running)
	switch {
	case t == nil:
		return g.key(), "t1"
	case t.Lease == nil || g.IntN(15) == 0:
		return t.Key(), task.Token(g.oneOf([]string{"", "t1", "another"}))
	}
	return t.Key(), t.Lease.Token
}

func (g *generator) extension() task.Extension {
	key, token := g.held()
	return task.Extension{Key: key, Token: token, Until: g.now + task.Millis(g.IntN(9000)-1000)}
}

func (g *generator) settlement() task.Settlement {
	key, token := g.held()
	verdicts := []task.Verdict{task.Success, task.Failure, task.Failure, task.Failure, task.Snooze, task.Refusal, task.Interrupted, task.Unsent}
	o := task.Outcome{
		Verdict: verdicts[g.IntN(len(verdicts))], StartedAt: g.now - task.Millis(g.IntN(50)), Status: g.IntN(600),
		Latency: time.Duration(g.IntN(1e9)), RetryAfter: time.Duration(g.IntN(5000)) * time.Millisecond,
		Reply: g.oneOf([]string{"", "reply", "ü"}),
	}
	o.Late, o.Exact = o.Latency/7, g.IntN(4) == 0
	if o.Verdict != task.Success {
		o.Error, o.Detail = g.oneOf([]string{"", "it failed"}), g.oneOf([]string{"", "for operators"})
	}
	if o.Verdict == task.Refusal {
		o.Reason = g.oneOf([]string{"gone", "no_retry"})
	}
	return task.Settlement{Key: key, Token: token, Outcome: o}
}

func (g *generator) filter() task.Filter {
	f := task.Filter{Namespace: g.oneOf(universe.namespaces)}
	if g.IntN(3) == 0 {
		f.Queue = g.oneOf(universe.queues)
	}
	for g.IntN(2) == 0 {
		f.States = append(f.States, task.State(1+g.IntN(6)))
	}
	if g.IntN(4) == 0 {
		f.Labels = g.labels()
	}
	if g.IntN(6) == 0 {
		f.EnteredBefore = g.edge(g.now)
	}
	if g.IntN(8) == 0 {
		f.Prefix = g.oneOf(universe.names)[:1]
	}
	if g.IntN(4) == 0 {
		f.DueBefore = g.edge(g.now)
	}
	if g.IntN(4) == 0 {
		f.DueAfter = g.edge(g.now)
	}
	if g.IntN(6) == 0 {
		f.EndedAfter = g.edge(g.now)
	}
	if g.IntN(6) == 0 {
		f.EndedBefore = g.edge(g.now)
	}
	if g.IntN(8) == 0 {
		f.Destination = "receiver.example:443"
	}
	if g.IntN(8) == 0 {
		f.Contains = []string{g.oneOf(universe.names)[1:]}
	}
	return f
}

func (g *generator) lane() task.Lane {
	if t := g.record(task.Scheduled); t != nil && g.IntN(5) > 0 {
		return t.Lane()
	}
	lanes := universe.lanes()
	return lanes[g.IntN(len(lanes))]
}

func (g *generator) laneRead() store.LaneRead {
	r := store.LaneRead{Lane: g.lane(), Until: g.edge(g.now), Limit: 1 + g.IntN(3)}
	if g.IntN(2) == 0 {
		r.After = task.Position{Due: g.edge(g.now)}
	}
	if t := g.record(task.Scheduled); t != nil && g.IntN(4) == 0 {
		r.After = t.Entry().Position()
	}
	return r
}
