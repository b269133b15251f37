package redisstore

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// pair is a master whose replica receives its writes through a proxy.
type pair struct {
	master, replica *redistest.Server
	between         *redistest.Proxy
}

func newPair(t *testing.T, args ...string) pair {
	t.Helper()
	master := redistest.New(t, append([]string{"--repl-diskless-sync-delay", "0"}, args...)...)
	between := redistest.NewProxy(t, master.Addr)
	return pair{master, redistest.NewReplica(t, between.Addr), between}
}

// openLevel opens a store at a durability level. It uses the servers' clocks.
func openLevel(t *testing.T, level redisconn.Durability, addrs ...string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{
		Client: rueidis.ClientOption{InitAddress: addrs, DisableCache: true},
		Shards: 8, Alone: true, Durability: level,
	})
	fatal.If(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// order returns a create of a task that is due in an hour. A second create with
// the same name repeats the first.
func order(name string) task.Create {
	spec := task.DefaultSpec()
	spec.Name, spec.ID = name, task.NewID(task.CeilMillis(time.Now()))
	spec.When, spec.Request.URL = task.When{Delay: time.Hour}, "https://receiver.example/hook"
	return task.Create{Spec: spec, Idempotency: &task.Idempotency{Key: "key of " + name, Fingerprint: "it"}}
}

// kept returns how many tasks a server has.
func kept(t *testing.T, s *Store, addr string) (n int) {
	t.Helper()
	for _, sh := range s.shards {
		reply, err := redistest.Command(t.Context(), addr, "HLEN", sh.Records)
		if err != nil || !strings.HasPrefix(reply, ":") {
			t.Fatal(reply, err)
		}
		var one int
		_, _ = fmt.Sscanf(reply, ":%d", &one)
		n += one
	}
	return n
}

func TestAnAnsweredChangeIsAtTheReplicaIfTheLevelPromisesIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		level   redisconn.Durability
		replica bool
	}{{redisconn.Async, false}, {redisconn.Default, true}, {redisconn.Strict, true}} {
		t.Run(string(c.level), func(t *testing.T) {
			p := newPair(t, "--appendfsync", "always")
			s := openLevel(t, c.level, p.master.Addr)
			if s.Standing().Durability != string(c.level) {
				t.Error(s.Standing().Durability)
			}
			s.servers.ReplicaTimeout = redistest.Patience
			if p.between.Delay(50 * time.Millisecond); !c.replica {
				p.between.Freeze()
			}
			var all sync.WaitGroup
			for g := range 8 {
				all.Go(func() {
					for i := range 3 {
						if err := apply(t, s, order(fmt.Sprintf("a-%d-%d", g, i))); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			if got := kept(t, s, p.replica.Addr); (got == 24) != c.replica {
				t.Errorf("the replica has %d of 24 when the last was answered", got)
			}
		})
	}
}

func TestStrictReportsUnconfirmedChangesAndRepeatingIsSafe(t *testing.T) {
	p := newPair(t, "--appendfsync", "always")
	s := openLevel(t, redisconn.Strict, p.master.Addr)
	fatal.If(t, apply(t, s, order("before")))
	s.servers.ReplicaTimeout = 100 * time.Millisecond
	p.between.Freeze()
	for try := range 3 { // a record that a repeat finds is no more durable
		if err := apply(t, s, order("a")); !errors.Is(err, task.ErrNotDurable) {
			t.Fatalf("try %d: %v", try, err)
		}
	}
	p.between.Thaw()
	s.servers.ReplicaTimeout = 10 * time.Second
	fatal.If(t, apply(t, s, order("a")))
	if got := kept(t, s, p.replica.Addr); got != 2 {
		t.Fatalf("the replica has %d tasks", got)
	}
}

// levelOf makes changes that must succeed, and returns the level in the
// replies.
func levelOf(t *testing.T, s *Store, changes ...task.Change) string {
	t.Helper()
	replies, err := s.Transit(t.Context(), task.CeilMillis(time.Now()), store.Changes(changes))
	fatal.If(t, err)
	level := s.Standing().Durability
	for _, r := range replies {
		fatal.If(t, r.Err)
		level = cmp.Or(r.Durability, level)
	}
	return level
}

func TestAReplyNamesTheDurabilityThatWasReached(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	s := openLevel(t, redisconn.Default, p.master.Addr)
	s.servers.ReplicaTimeout = 100 * time.Millisecond
	expect := func(when string, want redisconn.Durability, changes ...task.Change) {
		t.Helper()
		if got := levelOf(t, s, changes...); got != string(want) {
			t.Errorf("%s: %s, not %s", when, got, want)
		}
	}
	expect("with a replica", redisconn.Default, order("a"), order("b"))
	p.replica.Pause()
	expect("its replica stands still", redisconn.Async, order("c"), order("d"))
	if s.servers.ShortBatches.Load() == 0 {
		t.Error("nobody counted that the replica did not confirm it")
	}
	lookup := func(name string) task.Change {
		return task.Repeat{Key: order(name).Target(), Idempotency: order(name).Idempotency}
	}
	expect("a repeat", redisconn.Async, order("c"))
	expect("a repeat without the request", redisconn.Async, lookup("c"))
	expect("a cancel", redisconn.Async, task.Cancel{Key: order("a").Target()})
	eventually(t, "the replica counts as away", func() bool { return s.servers.Wants(p.master.Addr) == 0 })
	expect("its replica is away", redisconn.Async, order("e"))
	expect("a repeat without replica", redisconn.Async, order("e"))
	p.replica.Resume()
	eventually(t, "the replica follows", func() bool { return s.servers.Wants(p.master.Addr) == 1 })
	s.servers.ReplicaTimeout = 10 * time.Second
	expect("its replica is back", redisconn.Default, order("f"))
	expect("a repeat of an unconfirmed create", redisconn.Default, order("c"))
	expect("the same without the request", redisconn.Default, lookup("d"))
	if got := kept(t, s, p.replica.Addr); got != 6 {
		t.Errorf("the replica has %d tasks", got)
	}
}

// unmarked returns order's create without an Idempotency-Key, as batches and
// backfills send it. Its repeat returns task.ErrExists.
func unmarked(name string) task.Create {
	c := order(name)
	c.Idempotency = nil
	return c
}

// A create over the quota reads its record before it is refused. So it makes no
// put that replicas could confirm.
func TestARepeatByNameReportsItsRealDurability(t *testing.T) {
	quick.Leave(t, "starts several servers")
	for _, level := range []redisconn.Durability{redisconn.Default, redisconn.Strict} {
		for _, full := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, quota full %v", level, full), func(t *testing.T) {
				t.Parallel()
				p := newPair(t, "--appendfsync", "always")
				one, other := openLevel(t, level, p.master.Addr), openLevel(t, level, p.master.Addr)
				if full {
					fatal.If(t, errOf(other.Configure(t.Context(), began, []settings.Edit{settings.PutNamespace{Settings: settings.NamespaceSettings{Name: task.DefaultNamespace, MaxPending: 1}}})))
				}
				repeat := func(s *Store) (store.Reply, error) {
					r, err := s.Transit(t.Context(), task.CeilMillis(time.Now()), store.Changes([]task.Change{unmarked("a")}))
					if err != nil {
						return store.Reply{}, err
					}
					return r[0], nil
				}
				one.servers.ReplicaTimeout, other.servers.ReplicaTimeout = 100*time.Millisecond, 100*time.Millisecond
				p.between.Freeze()
				for _, s := range []*Store{one, other} {
					got, err := repeat(s)
					if level == redisconn.Strict && !errors.Is(err, task.ErrNotDurable) || level == redisconn.Default && (err != nil || got.Durability != string(redisconn.Async)) {
						t.Errorf("while no replica has it: %+v, %v", got, err)
					}
				}
				p.between.Thaw()
				one.servers.ReplicaTimeout, other.servers.ReplicaTimeout = 10*time.Second, 10*time.Second
				eventually(t, "the replica follows", func() bool { return other.servers.Wants(p.master.Addr) == 1 })
				if got, err := repeat(other); err != nil || !errors.Is(got.Err, task.ErrExists) || got.Durability != "" {
					t.Errorf("with a replica: %+v, %v", got, err)
				}
				if got := kept(t, other, p.replica.Addr); got != 1 {
					t.Errorf("the replica has %d tasks", got)
				}
			})
		}
	}
}

func TestTheDurabilityOfLevelsWithoutReplicas(t *testing.T) {
	t.Parallel()
	addr := redistest.New(t, "--appendfsync", "always").Addr
	for level, want := range map[redisconn.Durability]redisconn.Durability{redisconn.Async: redisconn.Async, redisconn.Default: redisconn.Async, redisconn.Strict: redisconn.Strict} {
		s := openLevel(t, level, addr)
		if got := levelOf(t, s, order("at "+string(level))); got != string(want) {
			t.Errorf("%s: %s", level, got)
		}
		_ = s.Close()
	}
}

func TestStrictReportsAMissingReplica(t *testing.T) {
	t.Parallel()
	p := newPair(t, "--appendfsync", "always")
	s := openLevel(t, redisconn.Strict, p.master.Addr)
	p.replica.Kill()
	s.servers.ReplicaTimeout = 50 * time.Millisecond
	var short *task.ShortError
	if err := apply(t, s, order("a")); !errors.Is(err, task.ErrNotDurable) || !errors.As(err, &short) || *short != (task.ShortError{Wanted: 1, Within: s.servers.ReplicaTimeout}) {
		t.Fatal(err)
	}
}

func TestABatchIsSentAgainIfTheServerForgotItsScripts(t *testing.T) {
	p := newPair(t, "--appendfsync", "always")
	s := openLevel(t, redisconn.Strict, p.master.Addr)
	for range 3 {
		if reply, err := redistest.Command(t.Context(), p.master.Addr, "SCRIPT", "FLUSH"); reply != "+OK" {
			t.Fatal(reply, err)
		}
		fatal.If(t, apply(t, s, order("a"), order("b")))
	}
}

// A master has a successor between the read of a task and its confirmation. The task must
// not be confirmed if the successor does not have it.
func TestStrictConfirmsNoTaskThatOnlyAReplacedMasterHas(t *testing.T) {
	t.Parallel()
	server := redistest.New(t, "--appendfsync", "always")
	proxy := redistest.NewProxy(t, server.Addr)
	var s *Store
	var reads, replaced atomic.Int64
	reads.Store(-100) // until the task is cancelled
	digest := task.Digest([]byte("key"))
	proxy.CutAt(func(command []string) bool {
		if field := keyspace.Field(tasktest.Key("a")); slices.Contains(command, field) && reads.Add(1) == 2 {
			if reply, err := redistest.Command(t.Context(), server.Addr, "HDEL", s.shard(tasktest.Key("a")).Records, field); reply != ":1" {
				t.Error(reply, err)
			}
			fatal.If(t, errOf(redistest.Command(t.Context(), server.Addr, "DEL", s.idemShard(task.DefaultNamespace, digest).Idem)))
			replaced.Add(1)
		}
		return false
	})
	s = openLevel(t, redisconn.Strict, proxy.Addr)
	cancel := func() error { return apply(t, s, task.Cancel{Key: tasktest.Key("a")}) }
	fatal.If(t, errors.Join(apply(t, s, unmarked("a")), cancel()))
	reads.Store(0)
	if err := cancel(); !errors.Is(err, task.ErrNotFound) || replaced.Load() != 1 {
		t.Errorf("on the successor, a repeated cancel ended with %v", err)
	}
	reads.Store(-100)
	marked := &task.Idempotency{Key: digest, Fingerprint: "f"}
	put := task.Replace{Spec: tasktest.Spec("a", 1<<45), Idempotency: marked}
	fatal.If(t, apply(t, s, put))
	reads.Store(0)
	fatal.If(t, apply(t, s, put)) // it makes the task that the successor lacks, and takes its key
	if err := apply(t, s, task.Create{Spec: tasktest.Spec("b", 1<<45), Idempotency: marked}); !errors.Is(err, task.ErrIdempotencyReuse) || replaced.Load() != 2 {
		t.Errorf("a create of another name with that key ended with %v", err)
	}
}
