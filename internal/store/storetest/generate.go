package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// universe is small, so that random commands often concern the same records.
var universe = world{
	namespaces: []string{"default", "default2"},
	names:      []string{"a", "a-", "a.b", "a0", "b"}, // some are prefixes of other names
	queues:     []string{"default", "default-"},
	urls:       []string{"https://receiver.example/hook", "http://[::1]:8080/"},
	keys:       []string{"k1", "k2", "k3"},
	actors:     []string{"", "token:1", "token:2"},
}

type world struct{ namespaces, names, queues, urls, keys, actors []string }

// lanes returns every lane in which a generated task can wait.
func (w world) lanes() []task.Lane {
	var lanes []task.Lane
	for _, namespace := range w.namespaces {
		lanes = append(lanes, task.ScheduleLane(namespace))
		for _, queue := range w.queues {
			for p := task.High; p <= task.Quarantine; p++ {
				for _, destination := range []string{"receiver.example:443", "[::1]:8080"} {
					lanes = append(lanes, task.Lane{Namespace: namespace, Queue: queue, Priority: p, Destination: destination})
				}
			}
		}
	}
	return lanes
}

// generator writes a script and runs it on a reference at the same time. So it
// knows the running tasks, and the claims it could settle. Its choices are
// likely to be sensible and never sure to be.
type generator struct {
	*rand.Rand
	now      task.Millis
	Contents      // of the reference
	serial   int  // the last identifier and token
	ways     int  // the number of ways to reopen
	ownOrder bool // Subject.OrderOfRecords
}

// Mixture returns contents with tasks in every state, schedules, tokens and secrets:
// those of a reference after random commands. reference is Subject.Reference.
func Mixture(reference func(now task.Millis, c Contents) store.Store, seed uint64) Contents {
	g, _ := generateOn(Subject{Reference: reference}, seed, scriptLength)
	return g.Contents
}

// generate returns the script of a seed.
func generate(s Subject, seed uint64, length int) script {
	_, sc := generateOn(s, seed, length)
	return sc
}

func generateOn(s Subject, seed uint64, length int) (*generator, script) {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0x5eed)), now: start, ways: len(s.Reopens), ownOrder: s.OrderOfRecords}
	reference := s.Reference(start, Contents{})
	ctx := context.Background()
	first := line{at: g.now, command: configure{Edits: []settings.Edit{settings.PutNamespace{Settings: settings.NamespaceSettings{Name: universe.namespaces[1]}}}}}
	if _, err := first.command.run(ctx, reference, first.at); err != nil {
		panic(fmt.Sprintf("storetest: the reference failed: %v", err))
	}
	sc := append(make(script, 0, length+1), first)
	for range length {
		g.wait()
		v, err := look(ctx, reference)
		if err != nil {
			panic(fmt.Sprintf("storetest: the reference failed: %v", err))
		}
		g.Contents = v.Contents
		l := line{at: g.now, command: g.command()}
		sc = append(sc, l)
		if _, ok := l.command.(reopen); ok {
			reference = s.Reference(g.now, g.Contents)
		} else if _, err := l.command.run(ctx, reference, l.at); err != nil {
			panic(fmt.Sprintf("storetest: the reference failed: %v", err))
		}
	}
	return g, sc
}

// wait moves the clock: mostly a little, sometimes past a retention, often to a
// time at which something is about to happen, and now and then back, as wall
// clocks do.
func (g *generator) wait() {
	switch g.IntN(20) {
	case 0:
		g.now += task.Millis(g.IntN(90_000))
	case 1:
		g.now -= task.Millis(g.IntN(500))
	case 2, 3, 4:
		g.now += task.Millis(g.IntN(3000))
	case 5, 6, 7, 8:
		g.now = max(g.now, g.edge(g.now))
	default:
		g.now += task.Millis(g.IntN(200))
	}
}

// edge returns an instant at which a record changes the allowed operations, or
// its neighbour to the millisecond: bugs are likely there.
func (g *generator) edge(otherwise task.Millis) task.Millis {
	t := g.record()
	if t == nil {
		return otherwise
	}
	edges := []task.Millis{t.Due, t.Due, t.KeepUntil, t.ExpiresAt(), t.MaybeSendingUntil}
	if t.IsSchedule() {
		edges = []task.Millis{t.Due}
	}
	if t.Lease != nil {
		edges = append(edges, t.Lease.Until, t.Lease.Until)
	}
	e := edges[g.IntN(len(edges))]
	if e == 0 || e == task.Never {
		return otherwise
	}
	return e + task.Millis(g.IntN(3)-1)
}

// over reports whether the retention of a record ends about now.
func (g *generator) over() bool {
	return slices.ContainsFunc(g.Records, func(t *task.Task) bool {
		return !t.State.Live() && t.KeepUntil >= g.now-1 && t.KeepUntil <= g.now+1
	})
}

func (g *generator) command() command {
	if g.over() && g.IntN(3) == 0 {
		return sweep{1 + g.IntN(5)}
	}
	switch n := g.IntN(100); {
	case n < 33:
		return transit{g.oneOf(universe.actors), store.Changes(g.decided(several(g, g.change)))}
	case n < 36:
		return configure{g.oneOf(universe.actors), several(g, g.edit)}
	case n < 42:
		return transit{Steps: store.Fires(several(g, g.fire))}
	case n < 58:
		return transit{Steps: store.Claims(several(g, g.claim))}
	case n < 76:
		return transit{Steps: store.Settlements(several(g, g.settlement))}
	case n < 80:
		return transit{Steps: store.Extensions(several(g, g.extension))}
	case n < 83:
		return reap{1 + g.IntN(5)}
	case n < 86:
		return sweep{1 + g.IntN(5)}
	case n < 87:
		return scrub{1 + g.IntN(20)}
	case n < 89:
		return get{g.key()}
	case n < 91:
		f := g.filter()
		f.States = [][]task.State{endedStates, {task.Dead}, {task.Delivered, task.Cancelled}}[g.IntN(3)]
		return list{f, f.NarrowEnded(g.edge(g.now), task.Page{Limit: 1 + g.IntN(4)})}
	case n < 94:
		return list{g.filter(), task.Page{Limit: 1 + g.IntN(4), After: g.oneOf(append(universe.names, "", "")), Before: g.oneOf(append(universe.names, "", "", "", "")), Bodies: g.IntN(2) == 0}}
	case n < 97 || g.ways == 0:
		return peek{several(g, g.laneRead)}
	}
	return reopen{g.IntN(g.ways)}
}

// several returns one to four items, mostly one.
func several[T any](g *generator, one func() T) []T {
	out := []T{one()}
	for len(out) < 4 && g.IntN(3) == 0 {
		out = append(out, one())
	}
	return out
}

// decided returns the changes of one call. If the order of changes to different
// records affects their outcome, it returns those of the first change's record
// alone. The order matters if there are quotas, and if one record gives back a
// key that another takes.
func (g *generator) decided(changes []task.Change) []task.Change {
	if !g.ownOrder || !slices.ContainsFunc(g.Settings, hasQuota) && !g.contested(changes) {
		return changes
	}
	first := changes[0].Target()
	return slices.DeleteFunc(changes, func(c task.Change) bool { return c.Target() != first })
}

func hasQuota(s settings.Setting) bool {
	n, ok := s.(*settings.NamespaceSettings)
	return ok && (n.MaxPending > 0 || n.MaxBytes > 0 || n.Suspended)
}

// contested reports whether one of changes needs a key of a record that another
// changes.
func (g *generator) contested(changes []task.Change) bool {
	return slices.ContainsFunc(changes, func(c task.Change) bool {
		return task.KeyOf(c) != "" && slices.ContainsFunc(changes, func(other task.Change) bool { return g.hasKey(other.Target(), c) })
	})
}

// hasKey reports whether the record k is a different record from c's and has
// c's key.
func (g *generator) hasKey(k task.Key, c task.Change) bool {
	return k != c.Target() && k.Namespace == c.Target().Namespace && slices.ContainsFunc(g.Records, func(t *task.Task) bool {
		return t.Key() == k && t.Idempotency != nil && t.Idempotency.Key == task.KeyOf(c)
	})
}

func (g *generator) oneOf(words []string) string { return words[g.IntN(len(words))] }

func (g *generator) key() task.Key {
	return task.Key{Namespace: g.oneOf(universe.namespaces), Name: g.oneOf(universe.names)}
}

// record returns a record in one of the states if there is one. Otherwise, and
// sometimes anyway, it returns any record. It returns nil if there is none.
func (g *generator) record(states ...task.State) *task.Task {
	if len(g.Records) == 0 {
		return nil
	}
	var fitting []*task.Task
	for _, t := range g.Records {
		for _, s := range states {
			if t.State == s {
				fitting = append(fitting, t)
			}
		}
	}
	if len(fitting) == 0 || g.IntN(12) == 0 {
		fitting = g.Records
	}
	return fitting[g.IntN(len(fitting))]
}

// keyOf returns the key of a record, mostly of one in one of the states.
func (g *generator) keyOf(states ...task.State) task.Key {
	if t := g.record(states...); t != nil && g.IntN(10) > 0 {
		return t.Key()
	}
	return g.key()
}

func (g *generator) next(prefix string) string {
	g.serial++
	return fmt.Sprintf("%s%d", prefix, g.serial)
}

func (g *generator) when() task.When {
	if g.IntN(2) == 0 {
		return task.When{Relative: true, Delay: time.Duration(g.IntN(1500)) * time.Millisecond}
	}
	w := task.When{At: g.now + task.Millis(g.IntN(2000)-500)}
	if g.IntN(6) == 0 {
		w.Next = w.At + task.Millis(g.IntN(1000)-200)
	}
	return w
}

func (g *generator) duration(choices ...time.Duration) time.Duration {
	return choices[g.IntN(len(choices))]
}

func (g *generator) body() task.Body {
	switch g.IntN(8) {
	case 0:
		return task.Body{Kind: task.NoBody}
	case 1:
		return task.Body{Kind: task.TextBody, Bytes: []byte{}}
	case 2:
		return task.Body{Kind: task.BinaryBody, Bytes: []byte(strings.Repeat("\x00\xff", 1+g.IntN(20_000)))}
	}
	return task.Body{Kind: task.JSONBody, Bytes: fmt.Appendf(nil, `{"n":%d}`, g.IntN(1000))}
}

func (g *generator) labels() map[string]string {
	m := map[string]string{}
	for _, k := range []string{"k", "l"} {
		if g.IntN(3) == 0 {
			m[k] = g.oneOf([]string{"", "v", "ü"})
		}
	}
	return m
}

func (g *generator) spec() task.Spec {
	s := task.DefaultSpec()
	s.Key, s.ID = g.key(), g.next("id-")
	s.Queue, s.Priority, s.Labels = g.oneOf(universe.queues), task.Priority(g.IntN(3)), g.labels()
	s.Request.URL = g.oneOf(universe.urls)
	body := g.body()
	s.Request.BodyKind, s.Request.Body, s.Request.BodySize = body.Kind, body.Bytes, len(body.Bytes)
	if g.IntN(3) == 0 {
		s.Request.Headers = map[string]string{"X-A": g.oneOf([]string{"", "1"})}
	}
	if g.IntN(4) == 0 {
		kind(g.oneOf([]string{"close", "index"}))(&s)
	}
	s.When = g.when()
	s.Timeout = g.duration(time.Millisecond, time.Second, time.Minute)
	s.ExpireAfter = g.duration(0, 0, time.Second, time.Hour)
	s.Retry = task.Retry{
		MaxAttempts: g.IntN(4),
		MinBackoff:  g.duration(time.Millisecond, time.Second),
		MaxBackoff:  g.duration(time.Second, time.Minute),
		MaxAge:      g.duration(0, 10*time.Second, time.Hour),
	}
	if g.IntN(3) == 0 {
		s.OnDead = g.oneOf(universe.urls)
	}
	if err := s.Validate(g.now); err != nil {
		panic(fmt.Sprintf("storetest: generated spec: %v", err))
	}
	if g.IntN(3) > 0 && len(g.Records) > 4 {
		if key := g.keyOf(task.Delivered, task.Cancelled, task.Dead); key.Name[0] != '@' { // not a schedule
			s.Key = key // possibly a name that no client could choose
		}
	}
	return s
}
