package redisstore

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// The reply to a create is lost, and another node changes the task before the
// create is repeated. The task was created all the same, and the caller learns
// that.
func TestARepeatedCreateFindsItsTaskEvenIfItWasChanged(t *testing.T) {
	server := redistest.New(t)
	other := openAt(t, server.Addr)
	defer func() { _ = other.Close() }()
	proxy := redistest.NewProxy(t, server.Addr)
	var name atomic.Pointer[string]
	var meanwhile atomic.Pointer[task.Change]
	var sent atomic.Int32
	proxy.CutAt(func(command []string) bool {
		wanted := name.Load()
		if wanted == nil || !slices.Contains(command, other.shard(tasktest.Key(*wanted)).Names) || !slices.Contains(command, keyspace.Field(tasktest.Key(*wanted))) {
			return false
		}
		n := sent.Add(1)
		if n == 2 {
			if replies, err := other.Transit(context.Background(), began, store.Changes([]task.Change{*meanwhile.Load()})); err != nil || replies[0].Err != nil {
				t.Error("the other's change:", replies, err)
			}
		}
		return n == 1
	})
	s := openAt(t, proxy.Addr)
	defer func() { _ = s.Close() }()
	apply := func(c task.Change) store.Reply {
		t.Helper()
		replies, err := s.Transit(t.Context(), began, store.Changes([]task.Change{c}))
		fatal.If(t, err)
		return replies[0]
	}
	apply(task.Create{Spec: specOf("first", began)}) // the server knows the script from now on
	timeout := 2 * task.DefaultSpec().Timeout
	for _, c := range []struct {
		name      string
		change    task.Change
		meanwhile task.Change
		becomes   task.State
	}{
		{"a", task.Create{Spec: specOf("a", began)}, task.Cancel{Key: tasktest.Key("a")}, task.Cancelled},
		{"b", task.Replace{Spec: specOf("b", began)}, task.Cancel{Key: tasktest.Key("b")}, task.Cancelled},
		{"c", task.Create{Spec: specOf("c", began)}, task.Patch{Key: tasktest.Key("c"), Timeout: &timeout}, task.Scheduled},
	} {
		sent.Store(0)
		meanwhile.Store(&c.meanwhile)
		name.Store(&c.name)
		r := apply(c.change)
		if r.Err != nil || r.Task.ID != "id-"+c.name || r.Effect != task.Created {
			t.Errorf("%s: %+v, error %v", c.name, r.Result, r.Err)
		}
		if got, err := s.Get(t.Context(), tasktest.Key(c.name)); err != nil || got.State != c.becomes || got.Version != 2 {
			t.Errorf("%s is %v (%v), want what the other has made of it", c.name, got, err)
		}
		if sent.Load() < 2 {
			t.Errorf("%s was sent %d times: its reply was not lost", c.name, sent.Load())
		}
		name.Store(nil)
	}
	if r := apply(task.Create{Spec: specOf("c", began)}); !errors.Is(r.Err, task.ErrExists) {
		t.Errorf("another create of a name that is taken: %v", r.Err)
	}
	checkInvariants(t, s)
}

// A create that has taken a key may be about to put the task for it. That holds
// even if a record with that name exists that was created without the key.
func TestTwoConcurrentCreatesNeverShareAnIdempotencyKey(t *testing.T) {
	s := openAt(t, redistest.New(t).Addr)
	defer func() { _ = s.Close() }()
	fatal.If(t, errOf(s.Transit(t.Context(), began, store.Changes([]task.Change{task.Create{Spec: specOf("a", began)}}))))
	idem := &task.Idempotency{Key: strings.Repeat("k", 64), Fingerprint: "f"}
	if _, err := s.take(t.Context(), []ask{{st: &step{Step: store.Step{Key: tasktest.Key("a")}}, digest: idem.Key}}); err != nil { // and its put follows later
		t.Fatal(err)
	}
	replies, err := s.Transit(t.Context(), began, store.Changes([]task.Change{task.Create{Spec: specOf("b", began), Idempotency: idem}}))
	if err != nil || !errors.Is(replies[0].Err, task.ErrIdempotencyReuse) {
		t.Fatalf("a second create with the key: %v, %v", replies, err)
	}
	old := strconv.FormatInt(time.Now().Add(-2*underWay).UnixMilli(), 10) + "/a"
	r := s.servers.Client.Do(t.Context(), s.servers.Client.B().Hset().Key(s.idemShard(task.DefaultNamespace, idem.Key).Idem).FieldValue().FieldValue(task.DefaultNamespace+"/"+idem.Key, old).Build())
	fatal.If(t, r.Error())
	replies, err = s.Transit(t.Context(), began, store.Changes([]task.Change{task.Create{Spec: specOf("b", began), Idempotency: idem}}))
	if err != nil || replies[0].Err != nil {
		t.Fatalf("a create with a key that was abandoned: %v, %v", replies, err)
	}
}

// bounded fails the test unless call ends in time with the error for servers
// that are away.
func bounded(t *testing.T, name string, call func() error) {
	t.Helper()
	since := time.Now()
	err := call()
	if took := time.Since(since); took > redistest.Patience {
		t.Errorf("%s ended after %v", name, took)
	}
	if !errors.Is(err, task.ErrUnavailable) {
		t.Errorf("%s: %v, not that the servers are away", name, err)
	}
}

// calls returns a call of each kind. Its context has no end.
func calls(t *testing.T, s *Store) map[string]func() error {
	ctx := t.Context()
	return map[string]func() error{
		"Apply": func() error {
			_, err := s.Transit(ctx, began, store.Changes([]task.Change{task.Create{Spec: specOf("b", began)}}))
			return err
		},
		"Get": func() error { _, err := s.Get(ctx, tasktest.Key("a")); return err },
		"List": func() error {
			_, err := s.List(ctx, task.Filter{Namespace: "default"}, task.Page{Limit: 10})
			return err
		},
		"Reap":   func() error { _, err := s.Reap(ctx, began, 10); return err },
		"Sweep":  func() error { _, err := s.Sweep(ctx, began, 10); return err },
		"Counts": func() error { _, err := s.Counts(ctx); return err },
		"Audit":  func() error { _, err := s.Audit(ctx, settings.AuditFilter{}, 0, 10); return err },
		"Scrub":  func() error { _, err := s.Scrub(ctx, began, "", 10); return err },
		"Configure": func() error {
			_, err := s.Configure(ctx, began, []settings.Edit{settings.PauseQueue{Namespace: "default", Name: "q", Paused: true}})
			return err
		},
	}
}

func TestWithoutAServerEveryCallEndsWithAnExplanation(t *testing.T) {
	long(t)
	for name, away := range map[string]func(*redistest.Proxy, *redistest.Server){
		"killed":          func(_ *redistest.Proxy, s *redistest.Server) { s.Kill() },
		"says nothing":    func(p *redistest.Proxy, _ *redistest.Server) { p.Freeze() },
		"takes no calls":  func(p *redistest.Proxy, _ *redistest.Server) { p.Refuse(true); p.Cut() },
		"process stopped": func(_ *redistest.Proxy, s *redistest.Server) { s.Pause() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.New(t)
			proxy := redistest.NewProxy(t, server.Addr)
			s := openAt(t, proxy.Addr)
			away(proxy, server)
			var all sync.WaitGroup
			for name, call := range calls(t, s) {
				all.Go(func() { bounded(t, name, call) })
			}
			all.Wait()
			since := time.Now()
			_ = s.Close()
			if took := time.Since(since); took > redistest.Patience {
				t.Errorf("to close took %v", took)
			}
			server.Resume()
		})
	}
}

// A node that is stopped does not wait long for servers that are away.
func TestANodeStopsWithinTwoSecondsWithoutItsServer(t *testing.T) {
	long(t)
	for name, away := range map[string]func(*redistest.Proxy){
		"refused": func(p *redistest.Proxy) { p.Refuse(true); p.Cut() },
		"frozen":  func(p *redistest.Proxy) { p.Freeze() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy := redistest.NewProxy(t, redistest.New(t).Addr)
			s := openNode(t, "a", proxy.Addr)
			defer proxy.Thaw()
			away(proxy)
			since := time.Now()
			s.Release()
			released := time.Since(since)
			_ = s.Close()
			t.Logf("released after %v, closed after %v", released, time.Since(since))
			if took := time.Since(since); took > redistest.Patience {
				t.Errorf("to stop took %v", took)
			}
		})
	}
}

// Two masters that each name the other for a slot redirect a reader back and
// forth, but not without end.
func TestRedirectsBetweenTwoMastersEnd(t *testing.T) {
	long(t)
	c := redistest.NewCluster(t, 3, 0)
	s := openAt(t, c.Addrs()...)
	defer func() { _ = s.Close() }()
	m := newMover(t, c)
	const key = "foliot:{of no shard}:nothing" // a master gives up no slot that has keys
	slot := keyspace.SlotOf("of no shard")
	has := m.owner(slot)
	for i := range 2 {
		m.do((has+i)%3, "CLUSTER", "SETSLOT", strconv.Itoa(int(slot)), "NODE", m.ids[(has+1-i)%3])
	}
	bounded(t, "HGETALL", func() error {
		_, err := s.servers.Ask(t.Context(), func(b rueidis.Builder) rueidis.Completed { return b.Hgetall().Key(key).Build() })
		return err
	})
}
