package redisstore

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/membership"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// nodesOf returns the nodes by name, as s sees them.
func nodesOf(t *testing.T, s *Store) map[string]store.Node {
	t.Helper()
	list, err := s.Nodes(t.Context())
	fatal.If(t, err)
	all := map[string]store.Node{}
	for _, n := range list {
		all[n.Name] = n
	}
	return all
}

func (s *Store) drainNode(t *testing.T, d store.Drain) error {
	t.Helper()
	ctx := settings.WithActor(t.Context(), settings.Actor{By: "tester"})
	return s.Drain(ctx, task.CeilMillis(time.Now()), d)
}

func TestNodesReportTheirNamesAndShards(t *testing.T) {
	server := redistest.New(t)
	began := task.FloorMillis(time.Now())
	a := openNodeWith(t, Config{Shared: store.Shared{Node: "a", Version: "1.2/3", Address: "127.0.0.1:8080"}}, server.Addr)
	b := openNode(t, "b", server.Addr)
	eventually(t, "they share the shards", func() bool { return divided(a, b) })
	all := nodesOf(t, a)
	n := all["a"]
	if len(all) != 2 || !n.Self || all["b"].Self || n.Version != "1.2-3" || n.Address != "127.0.0.1:8080" || n.StartedAt < began || n.BeatAt < began || !n.Live || n.Draining {
		t.Errorf("%+v", all)
	}
	if n.Owned != len(a.member.Owned()) || n.Owned != n.Wanted || n.Owned+all["b"].Owned != len(a.shards) {
		t.Errorf("%+v", all)
	}
	shards, err := b.Shards(t.Context())
	fatal.If(t, err)
	for i, sh := range shards {
		mine := a.member.Shard(a.shards[i]) != nil
		if sh.Number != i || mine != (sh.Owner == "a") || sh.Owner == "" || sh.Until <= began || sh.Epoch == 0 || sh.NextDue != 0 || sh.Running != 0 {
			t.Errorf("%+v", sh)
		}
	}
	for i := range 20 { // one of them knows why the task waits
		key := task.Key{Namespace: "default", Name: fmt.Sprint("t", i)}
		if a.Owns(key) == b.Owns(key) {
			t.Errorf("%s is owned by both nodes or by none", key.Name)
		}
	}
	want := store.Membership{Node: "a", Shards: len(a.shards), Owned: n.Owned, Nodes: 2}
	eventually(t, "its standing shows the same", func() bool { return a.Standing().Membership == want })
}

func TestAShardReportsDueAndRunningTasks(t *testing.T) {
	server := redistest.New(t)
	s := openNode(t, "a", server.Addr)
	tasks := soon(t, s, "t", 2, -time.Second)
	later := soon(t, s, "l", 1, time.Hour)[0]
	fatal.If(t, transit(t, s, task.FloorMillis(time.Now()), store.Claims(claimsOf('a', tasks[:1]))))
	shards, err := s.Shards(t.Context())
	fatal.If(t, err)
	if sh := shards[s.shard(tasks[0].Key()).Number]; sh.Running != 1 {
		t.Errorf("%+v", sh)
	}
	if sh := shards[s.shard(later.Key()).Number]; sh.NextDue == 0 || sh.NextDue > later.Due {
		t.Errorf("%+v, due at %d", sh, later.Due)
	}
}

func TestADrainedNodeReleasesItsShardsAndFinishesItsAttempts(t *testing.T) {
	server := redistest.New(t)
	a, b := openNodeWith(t, messagesAlone("a"), server.Addr), openNodeWith(t, messagesAlone("b"), server.Addr)
	eventually(t, "they share the shards", func() bool { return divided(a, b) })
	tasks := soon(t, a, "t", 20, 0)
	replies, err := a.Transit(t.Context(), task.FloorMillis(time.Now()), store.Claims(claimsOf('a', tasks)))
	fatal.If(t, err)
	fatal.If(t, b.drainNode(t, store.Drain{Node: "a"}))
	eventually(t, "the other owns all", func() bool { return divided(b) })
	if n := nodesOf(t, b)["a"]; !n.Draining || !n.Live || n.Wanted != 0 || len(a.member.Owned()) != 0 {
		t.Errorf("%+v", n)
	}
	settled := 0
	for _, r := range replies {
		if r.Err != nil {
			continue
		}
		err := transit(t, a, task.FloorMillis(time.Now()), store.Settlements([]task.Settlement{{Key: r.Task.Key(), Token: r.Task.Lease.Token, Outcome: task.Outcome{Status: 200, Verdict: task.Success}}}))
		if err != nil {
			t.Errorf("what it had claimed it cannot settle: %v", err)
		}
		settled++
	}
	if settled == 0 {
		t.Error("it had claimed nothing")
	}
	soon(t, a, "more", 20, 0) // it continues to serve
	fatal.If(t, b.drainNode(t, store.Drain{Node: "a", Undo: true}))
	eventually(t, "they share the shards again", func() bool { return divided(a, b) })
}

func TestADrainEndsWithTheProcess(t *testing.T) {
	server := redistest.New(t)
	a, b := openNode(t, "a", server.Addr), openNode(t, "b", server.Addr)
	fatal.If(t, a.drainNode(t, store.Drain{Node: "b"}))
	eventually(t, "the other owns all", func() bool { return divided(a) })
	fatal.If(t, b.Close())
	b = openNode(t, "b", server.Addr)
	eventually(t, "they share the shards", func() bool { return divided(a, b) })
}

func TestADrainWithoutAMessageIsNoticedWithinAHeartbeat(t *testing.T) {
	server := redistest.New(t)
	a, b := openNode(t, "a", server.Addr), openNode(t, "b", server.Addr)
	eventually(t, "they share the shards", func() bool { return divided(a, b) })
	_, nonce, _ := strings.Cut(a.member.Process, "/")
	before := beats(t, server)
	value, err := redistest.Command(t.Context(), server.Addr, "HSET", storeKeys.Nodes, "drain/a", nonce) // without a message to the nodes
	if err != nil || value != ":1" {
		t.Fatal(value, err)
	}
	eventually(t, "the other owns all", func() bool { return divided(b) })
	if n := beats(t, server) - before; n > 6 { // of two nodes; some came after it
		t.Errorf("after %d heartbeats", n)
	}
}

func TestTheLastNodeIsDrainedByForceAlone(t *testing.T) {
	server := redistest.New(t)
	a := openNode(t, "a", server.Addr)
	if err := a.drainNode(t, store.Drain{Node: "a"}); !errors.Is(err, store.ErrLastNode) {
		t.Fatal(err)
	}
	b := openNode(t, "b", server.Addr)
	eventually(t, "they share the shards", func() bool { return divided(a, b) })
	fatal.If(t, a.drainNode(t, store.Drain{Node: "b"}))
	if err := a.drainNode(t, store.Drain{Node: "a"}); !errors.Is(err, store.ErrLastNode) {
		t.Fatalf("another is drained already: %v", err)
	}
	// A drain never stops deliveries by itself: when the other nodes are gone,
	// the drained node takes over.
	fatal.If(t, a.Close())
	eventually(t, "the drained one owns all", func() bool { return divided(b) })
	fatal.If(t, b.drainNode(t, store.Drain{Node: "b", Force: true}))
	eventually(t, "nobody owns any", func() bool { return len(b.member.Owned()) == 0 })
	fatal.If(t, b.drainNode(t, store.Drain{Node: "b", Undo: true}))
	eventually(t, "it owns all", func() bool { return divided(b) })
}

func TestADrainIsAuditedOnceAndNamesNodesThatLive(t *testing.T) {
	server := redistest.New(t)
	a, _ := openNode(t, "a", server.Addr), openNode(t, "b", server.Addr)
	var missing *settings.MissingError
	if err := a.drainNode(t, store.Drain{Node: "nobody"}); !errors.As(err, &missing) {
		t.Error(err)
	}
	for _, d := range []store.Drain{{Node: "b"}, {Node: "b"}, {Node: "b", Force: true}, {Node: "b", Undo: true}, {Node: "b", Undo: true}} {
		fatal.If(t, a.drainNode(t, d))
	}
	page, err := a.Audit(t.Context(), settings.AuditFilter{Target: "b"}, 0, 100)
	fatal.If(t, err)
	var got []string
	for _, e := range page.Entries {
		got = append(got, e.Action+" "+e.Detail)
		if e.By != "tester" || e.At == 0 || e.Seq == 0 || e.Namespace != "" {
			t.Errorf("%+v", e)
		}
	}
	if want := []string{"node.undrain ", "node.drain forced", "node.drain "}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestADeadNodeIsListedForAnHourAndThenForgotten(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	proxy := redistest.NewProxy(t, server.Addr)
	a, b := openNode(t, "a", server.Addr), openNode(t, "b", proxy.Addr)
	eventually(t, "they share the shards", func() bool { return divided(a, b) })
	proxy.Refuse(true)
	proxy.Cut()
	eventually(t, "it counts as dead", func() bool { n, ok := nodesOf(t, a)["b"]; return ok && !n.Live && n.Wanted == 0 })
	last := func(ago time.Duration) {
		beat := fmt.Sprintf("%d/n/v/1/1/", time.Now().Add(-ago).UnixMilli())
		if reply, err := redistest.Command(t.Context(), server.Addr, "HSET", storeKeys.Nodes, "b", beat); err != nil {
			t.Fatal(reply, err)
		}
	}
	last(59 * time.Minute)
	a.member.WakeLoop()
	eventually(t, "it is still listed", func() bool { n, ok := nodesOf(t, a)["b"]; return ok && !n.Live })
	last(61 * time.Minute)
	eventually(t, "it is forgotten", func() bool { _, ok := nodesOf(t, a)["b"]; return !ok })
}

// The measure of a deploy: tasks that are due during it are not late. The shards
// pass on at once, and not with a heartbeat or after a lease.
func TestAGracefulRestartDelaysNothing(t *testing.T) {
	for _, others := range []int{0, 1} {
		t.Logf("with %d others nobody owned a shard for %v", others, ownerless(t, others))
	}
}

// ownerless restarts a node while other nodes run, and returns how long a shard
// had no owner.
func ownerless(t *testing.T, others int) time.Duration {
	server := redistest.New(t)
	a := openNodeWith(t, messagesAlone("a"), server.Addr)
	owners := []*Store{a}
	if others == 1 {
		owners = append(owners, openNodeWith(t, messagesAlone("b"), server.Addr))
		eventually(t, "they share the shards", func() bool { return divided(owners...) })
	}
	began := time.Now()
	a.Release() // as a server does before it drains
	if others == 0 {
		next := openNodeWith(t, messagesAlone("a"), server.Addr) // the new process starts before the old one ends, or right after
		owners = []*Store{next}
	}
	rest := owners[len(owners)-1:]
	eventually(t, "somebody owns all", func() bool { return divided(rest...) })
	took := time.Since(began)
	for _, s := range append(rest, a) {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	return took
}

// The node sleeps like a process that is stopped for longer than its leases: no
// bytes pass, and it wakes in the middle of its work.
func TestANodeThatSleptPastItsLeasesClaimsNothing(t *testing.T) {
	quick.Leave(t, "waits for leases")
	t.Parallel()
	server := redistest.New(t)
	proxy := redistest.NewProxy(t, server.Addr)
	a, b := openNode(t, "a", server.Addr), openNode(t, "b", proxy.Addr)
	eventually(t, "they share the shards", func() bool { return divided(a, b) })
	tasks := soon(t, a, "t", 40, 0)
	old := slices.DeleteFunc(claimsOf('b', tasks), func(c task.Claim) bool { return b.member.Shard(b.shard(c.Key)) == nil })
	proxy.Freeze()
	eventually(t, "the other owns all", func() bool { return divided(a) })
	for _, c := range old {
		if owner := b.member.Owner(b.shard(c.Key)); owner != membership.NoOwner {
			t.Errorf("it would claim %s as %s", c.Key.Name, owner)
		}
	}
	proxy.Thaw()
	claimed := map[string]int{}
	late, err := b.Transit(t.Context(), task.FloorMillis(time.Now()), store.Claims(old))
	for i, r := range late {
		if err == nil && r.Err == nil {
			claimed[old[i].Key.Name]++
			if b.member.Shard(b.shard(old[i].Key)) == nil { // it may own the shard again
				t.Errorf("it claimed %s", old[i].Key.Name)
			}
		}
	}
	others, err := a.Transit(t.Context(), task.FloorMillis(time.Now()), store.Claims(claimsOf('a', tasks)))
	fatal.If(t, err)
	for i, r := range others {
		if name := tasks[i].Name; r.Err == nil && claimed[name] > 0 {
			t.Errorf("%s was claimed by two", name)
		}
	}
}

// Otherwise each process would assign the other's shards to itself, or they
// would wake each other for ever with messages.
func TestASecondProcessWithTheSameNameOwnsNothingUntilTheFirstEnds(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	var firsts, laters lockedBuffer
	first := openNodeWith(t, Config{Shared: store.Shared{Node: "a", Address: "one:1", Logger: slog.New(slog.NewTextHandler(&firsts, nil))}}, server.Addr)
	later := openNodeWith(t, Config{Shared: store.Shared{Node: "a", Address: "two:2", Logger: slog.New(slog.NewTextHandler(&laters, nil))}}, server.Addr)
	eventually(t, "the later knows it", func() bool { return later.Standing().NameTaken })
	eventually(t, "both logs say it", func() bool {
		return strings.Contains(firsts.String(), "another server at two:2 uses") && strings.Contains(laters.String(), "server at one:1 already uses")
	})
	before := infoNumbers(t, server.Addr, "total_commands_processed")
	soon(t, first, "t", 1, 0)
	for range 5 { // heartbeats of both nodes, including those outside the interval
		first.member.WakeLoop()
		time.Sleep(first.config.Heartbeat) // no event to wait for
	}
	after := infoNumbers(t, server.Addr, "total_commands_processed")
	if n := after[0] - before[0]; n > 1000 {
		t.Errorf("%v commands in a second", n)
	}
	if !divided(first) || len(later.member.Owned()) != 0 || first.Standing().NameTaken || !later.Standing().NameTaken {
		t.Errorf("%+v, and later %+v", first.Standing(), later.Standing())
	}
	for _, s := range []*Store{first, later} {
		list, err := s.Nodes(t.Context())
		if err != nil || len(list) != 2 {
			t.Fatal(err, list)
		}
		a, b := list[0], list[1]
		if a.NameTaken || a.Address != "one:1" || a.Owned != 16 || a.Wanted != 16 || a.Self != (s == first) ||
			!b.NameTaken || b.Address != "two:2" || b.Owned != 0 || b.Wanted != 0 || b.Self == a.Self || !b.Live {
			t.Errorf("%+v", list)
		}
	}
	if err := first.drainNode(t, store.Drain{Node: "a"}); !errors.Is(err, store.ErrLastNode) {
		t.Errorf("the other counts as one that could take the shards: %v", err)
	}
	if log := firsts.String() + laters.String(); strings.Contains(log, "use the node name again") {
		t.Errorf("a node claims recovery too early:\n%s", log)
	}
	fatal.If(t, first.Close())
	eventually(t, "the other owns all", func() bool { return divided(later) && !later.Standing().NameTaken })
	eventually(t, "it says so", func() bool { return strings.Contains(laters.String(), "can use the node name again") })
}

// A process that was paused counts as the later one when it wakes.
func TestAProcessThatLostItsNameDuringASleepReleasesItsShards(t *testing.T) {
	quick.Leave(t, "waits for leases")
	t.Parallel()
	server := redistest.New(t)
	proxy := redistest.NewProxy(t, server.Addr)
	sleeper := openNode(t, "a", proxy.Addr)
	proxy.Freeze()
	next := openNode(t, "a", server.Addr)
	eventually(t, "the other owns all", func() bool { return divided(next) })
	proxy.Thaw()
	eventually(t, "it knows that it has lost its name", func() bool { return sleeper.Standing().NameTaken })
	if !divided(next) || len(sleeper.member.Owned()) != 0 {
		t.Errorf("%+v, and who slept %+v", next.Standing(), sleeper.Standing())
	}
}

// A node tries a Redis that is away ten times a second. The log must report
// that once.
func TestALostRedisIsLoggedInFewLines(t *testing.T) {
	quick.Leave(t, "waits for an outage")
	t.Parallel()
	server := redistest.New(t)
	proxy := redistest.NewProxy(t, server.Addr)
	var log lockedBuffer
	s := openNodeWith(t, Config{Shared: store.Shared{Node: "a", Logger: slog.New(slog.NewTextHandler(&log, nil))}}, proxy.Addr)
	proxy.Refuse(true)
	proxy.Cut()
	eventually(t, "it has lost all", func() bool { return s.Standing().Lost >= uint64(len(s.shards)) })
	proxy.Refuse(false)
	eventually(t, "it owns all again", func() bool { return divided(s) })
	eventually(t, "it says what it has lost, and that it works again", func() bool {
		return strings.Contains(log.String(), "this node lost shards: their leases ended before it renewed them\" shards=") && strings.Contains(log.String(), "can use Redis again")
	})
	if n := strings.Count(log.String(), "could not "); n > 8 {
		t.Errorf("%d lines about failures:\n%s", n, log.String())
	}
	if !strings.Contains(log.String(), "shards=16 before=0 of=16 nodes=1") {
		t.Errorf("the log does not say that it owns all shards again:\n%s", log.String())
	}
}

// TestANodeListsTheTasksOfAllNodes: upcoming tasks, and tasks that have ended,
// are found in shards of other nodes.
func TestANodeListsTheTasksOfAllNodes(t *testing.T) {
	server := redistest.New(t)
	a, b := openNode(t, "a", server.Addr), openNode(t, "b", server.Addr)
	eventually(t, "they share the shards", func() bool { return divided(a, b) })
	now := task.CeilMillis(time.Now())
	creates := tasktest.Creates("t", 100, now.Add(time.Hour), func(i int, s *task.Spec) {
		s.When.At += task.Millis(i * 7919 % 100_000)
		s.Request.URL = fmt.Sprintf("https://h%d.example/", i%10)
	})
	for _, changes := range [][]task.Change{creates, tasktest.Cancels(creates[50:])} {
		fatal.If(t, errOf(a.Transit(t.Context(), now, store.Changes(changes))))
	}
	for _, s := range []*Store{a, b} {
		page, err := s.Upcoming(t.Context(), store.UpcomingRead{Until: task.Never, Limit: 100})
		if err != nil || len(page.Tasks) != 50 || page.More {
			t.Errorf("%d upcoming tasks, more %v, error %v", len(page.Tasks), page.More, err)
		}
		ended, err := s.List(t.Context(), task.Filter{Namespace: task.DefaultNamespace, States: []task.State{task.Cancelled}}, task.Page{ByEnd: now, Limit: 100})
		if err != nil || len(ended.Tasks) != 50 || ended.Next != "" {
			t.Errorf("%d ended tasks, next %q, error %v", len(ended.Tasks), ended.Next, err)
		}
	}
}
