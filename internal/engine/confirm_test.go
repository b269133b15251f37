package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/engine/directory"
	"github.com/foliot/foliot/internal/engine/memory"
	"github.com/foliot/foliot/internal/engine/redis"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/task"
)

// starts records the attempts of all nodes of a test.
type starts struct {
	mu sync.Mutex
	at []time.Time // before the last check of each attempt that passed it
}

// deliver begins an attempt as a sender does. The time is read before the check,
// so an attempt later than a reply has passed the check after that reply.
func (s *starts) deliver(_ context.Context, d task.Delivery) task.Outcome {
	now := time.Now()
	if err := d.Live(); err != nil {
		return task.Outcome{Verdict: task.Unsent, Error: err.Error()}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = append(s.at, now)
	return task.Outcome{Verdict: task.Success, Status: 200}
}

// after returns the number of attempts, and of those that began after t.
func (s *starts) after(t time.Time) (all, late int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.at {
		if at.After(t) {
			late++
		}
	}
	return len(s.at), late
}

// open opens a node.
func open(t *testing.T, m engine.Medium) *engine.Node {
	t.Helper()
	n, err := engine.Open(t.Context(), m, engine.StoreConfig{Logger: slog.New(slog.DiscardHandler)})
	fatal.If(t, err)
	return n
}

// runNode runs a node until the test ends.
func runNode(t *testing.T, m engine.Medium, s *starts) *engine.Node {
	t.Helper()
	n := open(t, m)
	n.Connect(dispatch.Config{Grace: time.Second}, s.deliver, nil)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { n.Maintain(ctx) })
	running.Go(func() { _ = n.Deliver(ctx) })
	t.Cleanup(func() {
		stop()
		n.Release()
		running.Wait()
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// redisNode returns the medium of one of the nodes that share a Redis.
func redisNode(name, addr string) engine.Medium {
	c := redisstore.Config{Shards: 16, Shared: store.Shared{Node: name}}
	c.Client.InitAddress, c.Client.DisableCache = []string{addr}, true
	return redis.Medium{Config: c}
}

// fill keeps creating tasks that are due at once until stop is called. number
// counts them.
func fill(t *testing.T, n *engine.Node, namespace string) (number *atomic.Int64, stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var filling sync.WaitGroup
	number = &atomic.Int64{}
	filling.Go(func() {
		for ctx.Err() == nil {
			now := task.CeilMillis(n.Latest())
			changes := make([]task.Change, 50)
			for i := range changes {
				spec := task.DefaultSpec()
				spec.Namespace, spec.Name, spec.ID = namespace, fmt.Sprint("t", number.Add(1)), task.NewID(now)
				spec.Request.URL, spec.When = "http://receiver.example/", task.When{At: now}
				if err := spec.Validate(now); err != nil {
					t.Error(err)
					return
				}
				changes[i] = task.Create{Spec: spec}
			}
			_, _ = n.Store.Transit(ctx, now, store.Changes(changes))
		}
	})
	return number, func() { cancel(); filling.Wait() }
}

// configure applies an edit.
func configure(t *testing.T, n *engine.Node, e settings.Edit) (unconfirmed []string) {
	t.Helper()
	replies, err := n.Store.Configure(t.Context(), task.FloorMillis(n.Now()), []settings.Edit{e})
	if err != nil || replies[0].Err != nil {
		t.Fatal(err, replies)
	}
	return replies[0].Unconfirmed
}

func TestAfterTheReplyToAPauseOrASuspensionNoTaskStartsOnAnyNode(t *testing.T) {
	const tenant = "tenant"
	namespace := settings.NamespaceSettings{Name: tenant}
	suspended := namespace
	suspended.Suspended = true
	pause := func(paused bool) settings.Edit {
		return settings.PauseQueue{Namespace: tenant, Name: task.DefaultQueue, Paused: paused}
	}
	for name, nodesOf := range map[string]func(*testing.T, *starts) []*engine.Node{
		"memory": func(t *testing.T, s *starts) []*engine.Node { return []*engine.Node{runNode(t, memory.Medium{}, s)} },
		"directory": func(t *testing.T, s *starts) []*engine.Node {
			return []*engine.Node{runNode(t, directory.Medium{Path: t.TempDir()}, s)}
		},
		"three nodes on Redis": func(t *testing.T, s *starts) (all []*engine.Node) {
			addr := redistest.New(t).Addr
			for _, name := range []string{"a", "b", "c"} {
				all = append(all, runNode(t, redisNode(name, addr), s))
			}
			redistest.Until(t, "each node owns shards", func() bool {
				return !slices.ContainsFunc(all, func(n *engine.Node) bool { return n.Store.Standing().Owned == 0 })
			})
			return all
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &starts{}
			nodes := nodesOf(t, s)
			configure(t, nodes[0], settings.PutNamespace{Settings: namespace})
			created, stop := fill(t, nodes[len(nodes)-1], tenant)
			defer stop()
			more := func(what string, count func() int) {
				first := count()
				redistest.Until(t, what, func() bool { return count() > first+1000 })
			}
			for round := range 4 {
				more("tasks start", func() int { all, _ := s.after(time.Time{}); return all })
				hold, resume := pause(true), pause(false)
				if round%2 == 1 {
					hold, resume = settings.PutNamespace{Settings: suspended}, settings.PutNamespace{Settings: namespace}
				}
				if left := configure(t, nodes[0], hold); left != nil {
					t.Fatalf("%v did not confirm", left)
				}
				replied := time.Now()
				more("tasks are created", func() int { return int(created.Load()) })
				if all, late := s.after(replied); late > 0 {
					t.Errorf("%d of %d tasks started after the reply to %s", late, all, hold.Action())
				}
				configure(t, nodes[0], resume)
			}
		})
	}
}
