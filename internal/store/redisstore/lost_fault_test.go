package redisstore

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/store/storetest"
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
			if err := transit(t, other, began, store.Changes([]task.Change{*meanwhile.Load()})); err != nil {
				t.Error("the other's change:", err)
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
	create := func(name string, idem *task.Idempotency) error {
		return transit(t, s, began, store.Changes([]task.Change{task.Create{Spec: specOf(name, began), Idempotency: idem}}))
	}
	fatal.If(t, create("a", nil))
	idem := &task.Idempotency{Key: strings.Repeat("k", 64), Fingerprint: "f"}
	if _, err := s.take(t.Context(), []ask{{st: &step{Step: store.Step{Key: tasktest.Key("a")}}, digest: idem.Key}}); err != nil { // and its put follows later
		t.Fatal(err)
	}
	if err := create("b", idem); !errors.Is(err, task.ErrIdempotencyReuse) {
		t.Fatalf("a second create with the key: %v", err)
	}
	old := strconv.FormatInt(time.Now().Add(-2*underWay).UnixMilli(), 10) + "/a"
	r := s.servers.Client.Do(t.Context(), s.servers.Client.B().Hset().Key(s.idemShard(task.DefaultNamespace, idem.Key).Idem).FieldValue().FieldValue(task.DefaultNamespace+"/"+idem.Key, old).Build())
	fatal.If(t, r.Error())
	if err := create("b", idem); err != nil {
		t.Fatalf("a create with a key that was abandoned: %v", err)
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

// remoteCalls are those of storetest.Calls that need a server in any case.
var remoteCalls = []string{"Create", "Get", "List", "Reap", "Sweep", "Counts", "Audit", "Scrub", "Configure"}

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
			calls := storetest.Calls(t.Context(), s, began)
			for _, name := range remoteCalls {
				all.Go(func() { bounded(t, name, calls[name]) })
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

// Calls end with their contexts if a server does not answer, and succeed when
// it answers again.
func TestAFrozenConnectionFailsInTimeAndRecovers(t *testing.T) {
	long(t)
	server := redistest.New(t)
	proxy := redistest.NewProxy(t, server.Addr)
	s := openAt(t, proxy.Addr)
	defer func() { _ = s.Close() }()
	fatal.If(t, errOf(s.Transit(t.Context(), began, store.Changes([]task.Change{task.Create{Spec: specOf("a", began)}}))))
	proxy.Freeze()
	for _, name := range remoteCalls {
		ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
		since := time.Now()
		if err := storetest.Calls(ctx, s, began)[name](); err == nil || time.Since(since) > time.Second {
			t.Errorf("%s: error %v after %v", name, err, time.Since(since))
		}
		stop()
	}
	proxy.Thaw()
	fatal.If(t, transit(t, s, began, store.Changes([]task.Change{task.Create{Spec: specOf("c", began)}})))
	checkInvariants(t, s)
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

// A call whose reply was lost is repeated until its server is back. By then its
// clock may be too old to compute a lease.
func TestACallRepeatedForLongReturnsItsRealOutcome(t *testing.T) {
	s := openAt(t, redistest.New(t).Addr)
	defer func() { _ = s.Close() }()
	now := task.CeilMillis(time.Now())
	created, err := task.Create{Spec: specOf("a", now+60_000)}.Apply(now, nil, task.Facts{})
	fatal.If(t, err)
	first, _ := records.Replacement(s.shard(tasktest.Key("a")), records.Record{}, created.Task)
	second := first
	second.Field = "default/b"
	for _, c := range []struct {
		what string
		item redisconn.Item
		age  task.Millis
		want redisconn.Status
	}{
		{"at once", first, 0, redisconn.Applied},
		{"ten seconds later", first, 10_000, redisconn.AlreadyApplied},
		{"ten seconds later, for the first time", second, 10_000, redisconn.ClockSkew},
	} {
		at := redisconn.Clock{Now: now - c.age, Behind: 2000, Ahead: 1000}
		outcomes, _, err := s.servers.Put(t.Context(), redisconn.Terms{Clock: at}, []redisconn.Item{c.item})
		if err != nil || outcomes[0].Status != c.want {
			t.Errorf("%s: %v, %v; want the status %d", c.what, outcomes, err, c.want)
		}
	}
}

// The client closes the connections to a master that was replaced. The error is
// the same as when the client itself is closed.
func TestAReplacedConnectionIsNotReportedAsAClosedStore(t *testing.T) {
	err := new(Store).failure(fmt.Errorf("%w: the connection broke: %w", task.ErrUnavailable, rueidis.ErrClosing))
	if !errors.Is(err, task.ErrUnavailable) || errors.Is(err, task.ErrClosed) {
		t.Error(err)
	}
}

// A replica is detached from its master while the master is slow for a moment.
// There is no failover.
func TestAMasterWhoseFormerReplicaIsAMasterTooIsTrustedAgain(t *testing.T) {
	long(t)
	servers := redistest.NewSentinels(t)
	c := Config{Durability: redisconn.Async, Client: rueidis.ClientOption{Sentinel: rueidis.SentinelOption{MasterSet: redistest.MasterName}}, Shared: store.Shared{CallersClock: true}}
	s := openNodeWith(t, c, servers.Sentinels[0].Addr, servers.Sentinels[1].Addr, servers.Sentinels[2].Addr)
	servers.Servers[0].Pause()
	for _, replica := range servers.Servers[1:] {
		redis(t, replica, "REPLICAOF", "NO", "ONE")
	}
	for _, sentinel := range servers.Sentinels {
		redis(t, sentinel, "SENTINEL", "RESET", redistest.MasterName)
	}
	eventually(t, "the master has missed a check", func() bool { return s.servers.Doubted(s.servers.Keys.Nodes) })
	servers.Servers[0].Resume()
	eventually(t, "it takes writes", func() bool { return apply(t, s, order("after")) == nil })
}
