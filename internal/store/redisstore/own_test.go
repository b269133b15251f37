package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/task"
)

// openNode opens one of the nodes that share the servers at addrs, with leases that are short.
func openNode(t *testing.T, name string, addrs ...string) *Store {
	t.Helper()
	return openNodeWith(t, Config{Node: name}, addrs...)
}

func openNodeWith(t *testing.T, c Config, addrs ...string) *Store {
	t.Helper()
	c.Client.InitAddress, c.Client.DisableCache, c.Client.DisableRetry = addrs, true, true
	c.Shards, c.ShardLease, c.Heartbeat = 16, 1500*time.Millisecond, 200*time.Millisecond
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// eventually waits until it is so: real servers are asked.
func eventually(t *testing.T, patience time.Duration, what string, so func() bool) time.Duration {
	t.Helper()
	return redistest.Until(t, patience, what, so)
}

// divided reports whether every shard is owned by one of nodes, and each of these owns some.
func divided(nodes ...*Store) bool {
	owners := map[int]int{}
	for _, s := range nodes {
		owned := s.owned()
		for _, h := range owned {
			owners[h.number]++
		}
		if len(owned) == 0 {
			return false
		}
	}
	for _, n := range owners {
		if n != 1 {
			return false
		}
	}
	return len(owners) == len(nodes[0].shards)
}

// soon creates tasks that are due in a while and returns them.
func soon(t *testing.T, s *Store, prefix string, n int, wait time.Duration) []*task.Task {
	t.Helper()
	now := task.CeilMillis(time.Now())
	changes := make([]task.Change, n)
	for i := range changes {
		spec := task.DefaultSpec()
		spec.Key, spec.ID = task.Key{Namespace: "default", Name: fmt.Sprint(prefix, i)}, fmt.Sprint("id", prefix, i)
		spec.Request.URL, spec.When = "https://receiver.example/", task.When{At: now.Add(wait)}
		if err := spec.Validate(now); err != nil {
			t.Fatal(err)
		}
		changes[i] = task.Create{Spec: spec}
	}
	replies, err := s.Apply(context.WithoutCancel(t.Context()), now, changes)
	if err != nil {
		t.Fatal(err)
	}
	tasks := make([]*task.Task, n)
	for i, r := range replies {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		tasks[i] = r.Task
	}
	return tasks
}

// claimsOf returns claims of tasks, by a node.
func claimsOf(node byte, tasks []*task.Task) []task.Claim {
	claims := make([]task.Claim, len(tasks))
	for i, one := range tasks {
		claims[i] = task.Claim{Key: one.Key(), Lane: one.Lane(), Token: task.Token(fmt.Sprint(string(node), one.Name)), Until: task.FloorMillis(time.Now()).Add(15 * time.Second)}
	}
	return claims
}

// told collects what a node's watcher hears.
type told struct {
	mu sync.Mutex
	at map[string]time.Time
}

func watch(s *Store) *told {
	w := &told{at: map[string]time.Time{}}
	s.Watch(func(entries []task.Entry) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, e := range entries {
			if _, ok := w.at[e.Name]; !ok {
				w.at[e.Name] = time.Now()
			}
		}
	})
	return w
}

func (w *told) all() map[string]time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make(map[string]time.Time, len(w.at))
	for name, at := range w.at {
		all[name] = at
	}
	return all
}

// await waits until the watcher of s has heard of those of tasks that lie in its shards.
func (w *told) await(t *testing.T, s *Store, tasks []*task.Task) time.Duration {
	t.Helper()
	return eventually(t, 2*time.Second, "it hears of its tasks", func() bool {
		all := w.all()
		for _, one := range tasks {
			if _, ok := all[one.Name]; !ok && s.holding(s.shard(one.Key())) != nil {
				return false
			}
		}
		return true
	})
}

func TestALoneNodeOwnsEveryShardAtOnceAndAfterAGracefulRestart(t *testing.T) {
	server := redistest.New(t)
	for range 3 {
		s := openNode(t, "a", server.Addr)
		if !divided(s) {
			t.Fatalf("it owns %d shards", len(s.owned()))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestANodeThatWasKilledWaitsForItsOwnLeasesAndNoLonger(t *testing.T) {
	server := redistest.New(t)
	proxy := redistest.NewProxy(t, server.Addr)
	dead := openNode(t, "a", proxy.Addr)
	proxy.Refuse(true)
	proxy.Cut()
	again := openNode(t, "a", server.Addr)
	if n := len(again.owned()); n != 0 {
		t.Errorf("it owns %d shards while the leases last", n)
	}
	eventually(t, dead.config.ShardLease+300*time.Millisecond, "it owns all", func() bool { return divided(again) })
}

func TestEachShardHasOneOwnerWhoeverComesAndGoes(t *testing.T) {
	server := redistest.New(t)
	a := openNode(t, "a", server.Addr)
	b := openNode(t, "b", server.Addr)
	came := eventually(t, 2*time.Second, "two nodes share the shards", func() bool { return divided(a, b) })
	c := openNode(t, "c", server.Addr)
	came = max(came, eventually(t, 2*time.Second, "three nodes share the shards", func() bool { return divided(a, b, c) }))
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	went := eventually(t, 2*time.Second, "two nodes share the shards again", func() bool { return divided(a, c) })
	if went > 150*time.Millisecond {
		t.Errorf("what a node released that was stopped was owned again after %v", went)
	}
	t.Logf("settled within %v of a node's coming, %v of its going", came, went)
}

func TestTheShardsOfANodeThatIsCutOffAreTakenAfterTheirLeases(t *testing.T) {
	server := redistest.New(t)
	proxy := redistest.NewProxy(t, server.Addr)
	a, b := openNode(t, "a", server.Addr), openNode(t, "b", proxy.Addr)
	eventually(t, 2*time.Second, "they share the shards", func() bool { return divided(a, b) })
	others := b.owned()
	heard, tasks := watch(a), soon(t, b, "t", 40, 0)
	proxy.Refuse(true)
	proxy.Cut()
	took := eventually(t, 2*a.config.ShardLease, "the other owns all", func() bool { return divided(a) })
	if limit := a.config.ShardLease + 300*time.Millisecond; took > limit || took < a.config.ShardLease/2 {
		t.Errorf("it owned all after %v: at the latest after %v, and not before the leases' end", took, limit)
	}
	if late := heard.await(t, a, tasks); late > 300*time.Millisecond {
		t.Errorf("it heard of what the other left %v later", late)
	}
	if n := len(b.owned()); n != 0 {
		t.Errorf("who was cut off still counts %d of %d shards as its own", n, len(others))
	}
	proxy.Refuse(false)
	eventually(t, 3*time.Second, "they share the shards again", func() bool { return divided(a, b) })
}

// A node that was stopped does not know that its leases have ended: the server does.
func TestANodeThatLostAShardClaimsNothingThereAndSettlesWhatItHas(t *testing.T) {
	server := redistest.New(t)
	a := openNode(t, "a", server.Addr)
	tasks := soon(t, a, "t", 40, 0)
	first, err := a.Claim(t.Context(), task.FloorMillis(time.Now()), claimsOf('a', tasks[:20]))
	if err != nil {
		t.Fatal(err)
	}
	b := openNode(t, "b", server.Addr)
	before := map[int]*holding{}
	for _, h := range a.owned() {
		before[h.number] = h
	}
	eventually(t, 2*time.Second, "they share the shards", func() bool { return divided(a, b) })
	for i, h := range before { // as it was for a process that was stopped meanwhile
		h.until.Store(1<<63 - 1)
		a.own.holdings[i].Store(h)
	}
	second, err := a.Claim(t.Context(), task.FloorMillis(time.Now()), claimsOf('a', tasks[20:]))
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i, r := range second {
		lost := b.holding(b.shard(tasks[20+i].Key())) != nil
		if lost {
			refused++
		}
		if (r.Err != nil) != lost {
			t.Errorf("task %d, in a shard that was lost: %v: %v", i, lost, r.Err)
		}
	}
	if refused == 0 {
		t.Error("no task lies in a shard that was lost")
	}
	settlements := make([]task.Settlement, len(first))
	for i, r := range first {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		settlements[i] = task.Settlement{Key: r.Task.Key(), Token: r.Task.Lease.Token, Outcome: task.Outcome{Status: 200, Verdict: task.Success}}
	}
	replies, err := a.Settle(t.Context(), task.FloorMillis(time.Now()), settlements)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range replies {
		if r.Err != nil {
			t.Errorf("settle %d: %v", i, r.Err)
		}
	}
}

func TestNoTaskIsClaimedByTwoWhileNodesComeAndGo(t *testing.T) {
	server := redistest.New(t)
	a := openNode(t, "a", server.Addr)
	var mu sync.Mutex
	claimed := map[task.Key]string{}
	tasks := soon(t, a, "t", 400, 0)
	claimAll := func(s *Store, name byte) int {
		n := 0
		for i := 0; i < len(tasks); i += 10 {
			replies, err := s.Claim(context.WithoutCancel(t.Context()), task.FloorMillis(time.Now()), claimsOf(name, tasks[i:i+10]))
			if err != nil {
				t.Error(err)
				return n
			}
			for _, r := range replies {
				if r.Err != nil {
					continue
				}
				n++
				mu.Lock()
				if by, ok := claimed[r.Task.Key()]; ok && by != string(name) { // the same claim again is answered again
					t.Errorf("%s was claimed by %s and by %c", r.Task.Name, by, name)
				}
				claimed[r.Task.Key()] = string(name)
				mu.Unlock()
			}
		}
		return n
	}
	b := openNode(t, "b", server.Addr)
	var both sync.WaitGroup
	for name, s := range map[byte]*Store{'a': a, 'b': b} {
		both.Go(func() {
			for range 3 {
				claimAll(s, name)
			}
		})
	}
	both.Wait()
	eventually(t, 2*time.Second, "they share the shards", func() bool { return divided(a, b) })
	claimAll(a, 'a')
	claimAll(b, 'b')
	if len(claimed) != len(tasks) {
		t.Errorf("%d of %d tasks were claimed", len(claimed), len(tasks))
	}
}

func TestATaskCreatedOnOneNodeReachesTheWatcherOfTheOther(t *testing.T) {
	server := redistest.New(t)
	// The poll is too slow to be the one that tells.
	a := openNodeWith(t, Config{Node: "a", LanePoll: time.Hour}, server.Addr)
	b := openNodeWith(t, Config{Node: "b", LanePoll: time.Hour}, server.Addr)
	eventually(t, 2*time.Second, "they share the shards", func() bool { return divided(a, b) })
	listening(t, server.Addr, a, b)
	heard := watch(b)
	tasks := soon(t, a, "t", 40, 500*time.Millisecond)
	took := heard.await(t, b, tasks)
	for _, one := range tasks {
		if h := b.holding(b.shard(one.Key())); h != nil && !h.marks.Covers(one.Entry()) {
			t.Errorf("the mark of %s is too high", one.Name)
		}
	}
	t.Log("within", took)
}

// listening waits until nodes have subscribed to what wakes them.
func listening(t *testing.T, addr string, nodes ...*Store) {
	t.Helper()
	for _, s := range nodes {
		for _, h := range s.owned() {
			eventually(t, 2*time.Second, "somebody listens at "+h.wake, func() bool {
				reply, err := s.servers.client.Do(t.Context(), s.servers.client.B().PubsubShardnumsub().Channel(h.wake).Build()).ToArray()
				if err != nil || len(reply) != 2 {
					t.Fatal(addr, err)
				}
				n, _ := reply[1].AsInt64()
				return n > 0
			})
		}
	}
}

// readsAll reports whether s reads those of tasks that lie in its shards, as dispatch does.
func readsAll(t *testing.T, s *Store, tasks []*task.Task) bool {
	t.Helper()
	now := task.CeilMillis(time.Now())
	heads, err := s.Lanes(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]bool{}
	for _, h := range heads {
		found, err := s.Peek(t.Context(), []task.LaneRead{{Lane: h.Lane, Until: now, Limit: 1000}})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range found[0] {
			read[e.Name] = true
		}
	}
	for _, one := range tasks {
		if !read[one.Name] && s.holding(s.shard(one.Key())) != nil {
			return false
		}
	}
	return true
}

func TestWithEveryWakeUpLostThePollFindsWhatOthersCreate(t *testing.T) {
	server := redistest.New(t)
	a, b := openNode(t, "a", server.Addr), openNode(t, "b", server.Addr)
	eventually(t, 2*time.Second, "they share the shards", func() bool { return divided(a, b) })
	for _, h := range b.all() {
		h.stop() // it listens to nothing any more
	}
	// Twice: what the second brings lies behind what is known.
	for _, prefix := range []string{"t", "s"} {
		began := time.Now()
		tasks := soon(t, a, prefix, 40, 0)
		eventually(t, 2*time.Second, "it reads its tasks", func() bool { return readsAll(t, b, tasks) })
		if took := time.Since(began); took > b.config.LanePoll+250*time.Millisecond {
			t.Errorf("it took %v, with a poll every %v", took, b.config.LanePoll)
		}
	}
	heard := watch(b)
	if took := heard.await(t, b, soon(t, a, "first", 40, -time.Minute)); took > b.config.LanePoll+250*time.Millisecond {
		t.Errorf("what comes before all others was told after %v, with a poll every %v", took, b.config.LanePoll)
	}
}

// A poll that reads what is known again and again would cost more than the deliveries.
func TestThePollTellsNothingTwiceAndMissesNothingOfTheSameMoment(t *testing.T) {
	server := redistest.New(t)
	s, other := openAt(t, server.Addr), openAt(t, server.Addr)
	defer func() { _, _ = s.Close(), other.Close() }()
	tasks := soon(t, s, "t", 20, 2*time.Second)
	if _, err := s.Peek(t.Context(), []task.LaneRead{{Lane: tasks[0].Lane(), Until: forever, Limit: 100}}); err != nil {
		t.Fatal(err)
	}
	if err := s.raiseBounds(t.Context()); err != nil {
		t.Fatal(err)
	}
	heard := watch(s)
	if err := s.discover(t.Context(), s.owned(), false); err != nil {
		t.Fatal(err)
	}
	if all := heard.all(); len(all) != 0 {
		t.Errorf("it told of %d tasks that were known", len(all))
	}
	spec := task.DefaultSpec()
	now := task.CeilMillis(time.Now())
	spec.Request.URL, spec.When = "https://receiver.example/", task.When{At: tasks[0].Due}
	for i := range 20 {
		spec.Key, spec.ID = task.Key{Namespace: "default", Name: fmt.Sprint("a", i)}, fmt.Sprint("ida", i)
		if err := spec.Validate(now); err != nil {
			t.Fatal(err)
		}
		replies, err := other.Apply(t.Context(), now, []task.Change{task.Create{Spec: spec}})
		if err != nil || replies[0].Err != nil {
			t.Fatal(err, replies[0].Err)
		}
		tasks = append(tasks, replies[0].Task)
	}
	if err := s.discover(t.Context(), s.owned(), false); err != nil {
		t.Fatal(err)
	}
	for _, one := range tasks {
		if !s.holding(s.shard(one.Key())).marks.Covers(one.Entry()) {
			t.Errorf("reads pass over %s", one.Name)
		}
	}
}

// What a failover loses may be who owns what.
func TestShardsWhoseOwnersTheServerForgotHaveOneOwnerAgain(t *testing.T) {
	server := redistest.New(t)
	a, b := openNode(t, "a", server.Addr), openNode(t, "b", server.Addr)
	eventually(t, 2*time.Second, "they share the shards", func() bool { return divided(a, b) })
	for _, sh := range a.shards {
		if _, err := redistest.Command(t.Context(), server.Addr, "DEL", sh.own); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, 2*time.Second, "they share the shards, and the server knows", func() bool {
		for _, sh := range a.shards {
			id, _ := redistest.Command(t.Context(), server.Addr, "HGET", sh.own, "id")
			if h := a.holding(sh); (h == nil || h.id != id) && (b.holding(sh) == nil || b.holding(sh).id != id) {
				return false
			}
		}
		return divided(a, b)
	})
	tasks := soon(t, a, "t", 40, 0)
	claimed := 0
	for name, s := range map[byte]*Store{'a': a, 'b': b} {
		replies, err := s.Claim(t.Context(), task.FloorMillis(time.Now()), claimsOf(name, tasks))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range replies {
			if r.Err == nil {
				claimed++
			}
		}
	}
	if claimed != len(tasks) {
		t.Errorf("%d of %d tasks were claimed", claimed, len(tasks))
	}
}

// A user to whom no channel is open, as Redis makes them, can neither publish nor listen.
func TestWithoutChannelsNodesWorkByThePoll(t *testing.T) {
	server := redistest.New(t)
	if reply, err := redistest.Command(t.Context(), server.Addr, "ACL", "SETUSER", "poor", "on", ">secret", "~foliot:*", "+@all", "resetchannels"); reply != "+OK" {
		t.Fatal(reply, err)
	}
	poor := rueidis.ClientOption{Username: "poor", Password: "secret"}
	a := openNodeWith(t, Config{Node: "a", Client: poor}, server.Addr)
	b := openNodeWith(t, Config{Node: "b", Client: poor}, server.Addr)
	eventually(t, 2*time.Second, "they share the shards", func() bool { return divided(a, b) })
	heard := watch(b)
	tasks := soon(t, a, "t", 40, 0)
	heard.await(t, b, tasks)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Second, "the other owns all", func() bool { return divided(b) })
}

func TestConfigurationsThatCannotWorkAreRefused(t *testing.T) {
	for _, c := range []Config{
		{Node: "a/b"},
		{Shards: -1},
		{Shards: slots + 1},
		{ShardLease: time.Second, Heartbeat: 500 * time.Millisecond},
		{ShardLease: time.Second, Heartbeat: -1},
	} {
		c.Client = rueidis.ClientOption{InitAddress: []string{"127.0.0.1:1"}}
		if _, err := Open(t.Context(), c); !errors.Is(err, errConfig) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestNodesShareACluster(t *testing.T) {
	cluster := redistest.NewCluster(t, 3, 0)
	a, b := openNode(t, "a", cluster.Addrs()...), openNode(t, "b", cluster.Addrs()...)
	eventually(t, 3*time.Second, "they share the shards", func() bool { return divided(a, b) })
	heard := watch(b)
	tasks := soon(t, a, "t", 40, 300*time.Millisecond)
	heard.await(t, b, tasks)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, 2*time.Second, "the other owns all", func() bool { return divided(b) })
}
