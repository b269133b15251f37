package redisstore

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store/redisstore/identity"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// oldestIn returns the oldest format whose code may use the servers.
func oldestIn(t *testing.T, r *redistest.Server) string {
	t.Helper()
	reply, err := redistest.Command(t.Context(), r.Addr, "HGET", storeKeys.Meta, "oldest")
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// forgetful makes a server look like one that took over before it received the
// first schedule.
func forgetful(t *testing.T, r *redistest.Server) {
	t.Helper()
	if reply, err := redistest.Command(t.Context(), r.Addr, "HSET", storeKeys.Meta, "oldest", "1"); reply != ":0" {
		t.Fatal(reply, err)
	}
}

// joins adds a live node with that format. leaves removes it.
func joins(t *testing.T, r *redistest.Server, node string, format int) (leaves func()) {
	t.Helper()
	lives := task.FloorMillis(time.Now()).Add(time.Hour) // the node lowers it to its own clock
	about := fmt.Sprintf("%s/nonce/v0.1.0/%d/0/10.0.0.7:8750", redisconn.Score(lives), format)
	if reply, err := redistest.Command(t.Context(), r.Addr, "HSET", storeKeys.Nodes, node, about); reply != ":1" {
		t.Fatal(reply, err)
	}
	return func() {
		t.Helper()
		if reply, err := redistest.Command(t.Context(), r.Addr, "HDEL", storeKeys.Nodes, node); reply != ":1" {
			t.Fatal(reply, err)
		}
	}
}

// shared returns a server with an empty store of format 1, which a live node of
// format 2 shares. So nodes of this version write the usual form.
func shared(t *testing.T) (r *redistest.Server, leaves func()) {
	t.Helper()
	r = redistest.New(t)
	s, _ := opened(t, nodeOn(r, nil))
	_ = s.Close()
	if reply, err := redistest.Command(t.Context(), r.Addr, "HSET", storeKeys.Meta, "format", "1", "oldest", "1"); reply != ":0" {
		t.Fatal(reply, err)
	}
	return r, joins(t, r, "second", identity.ScheduleFormat)
}

func TestTheVersionGuardIsRestoredAfterAFailover(t *testing.T) {
	r, _ := shared(t)
	first, _ := opened(t, nodeOn(r, nil))
	if err := apply(t, first, eachSecond(t, "nightly")); err != nil {
		t.Fatal(err)
	}
	_ = first.Close()
	var log bytes.Buffer
	s, _ := opened(t, nodeOn(r, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) }))
	eventually(t, 3*time.Second, "it has looked, and knows that there are schedules", func() bool { return s.excluded.get() >= identity.ScheduleFormat })

	var g guard // besides the guard of s itself, which is next due in a minute
	now := time.Now()
	look := func(after time.Duration, want string) {
		t.Helper()
		now = now.Add(after)
		if err := s.guardOlder(t.Context(), &g, now); err != nil {
			t.Fatal(err)
		}
		if got := oldestIn(t, r); got != want {
			t.Errorf("the oldest is %s, want %s", got, want)
		}
	}
	look(0, "2")
	forgetful(t, r)
	look(guardEvery-time.Millisecond, "1")
	joins(t, r, "older", 1)
	look(time.Millisecond, "2")
	look(guardEvery, "2")
	_ = s.Close() // no goroutine writes into log from here on
	if got := log.String(); strings.Count(got, "had lost") != 1 || !strings.Contains(got, "nodes=older") {
		t.Errorf("logged is %s", got)
	}
}

func TestANewMasterGetsItsVersionGuardAtOnce(t *testing.T) {
	r, _ := shared(t)
	s, _ := opened(t, nodeOn(r, nil))
	if err := apply(t, s, eachSecond(t, "nightly")); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	g := guard{addr: "127.0.0.1:1", next: now.Add(guardEvery)} // the earlier master was asked
	forgetful(t, r)
	if err := s.guardOlder(t.Context(), &g, now); err != nil || oldestIn(t, r) != "2" {
		t.Errorf("the oldest is %s: %v", oldestIn(t, r), err)
	}
}

// A node that did not create the first schedule guards it too, because the node
// that did may be gone.
func TestEachNodeGuardsTheSchedulesOfAnother(t *testing.T) {
	r, _ := shared(t)
	first, _ := opened(t, nodeOn(r, func(c *Config) { c.Node = "first" }))
	other, _ := opened(t, nodeOn(r, func(c *Config) { c.Node = "other" }))
	var g guard
	now := time.Now()
	look := func(want string) {
		t.Helper()
		if err := other.guardOlder(t.Context(), &g, now); err != nil || oldestIn(t, r) != want {
			t.Errorf("the oldest is %s, want %s: %v", oldestIn(t, r), want, err)
		}
		now = now.Add(guardEvery)
	}
	look("1") // there are no schedules: older versions may still come back
	if err := apply(t, first, eachSecond(t, "nightly")); err != nil {
		t.Fatal(err)
	}
	look("2")
	_ = first.Close()
	forgetful(t, r)
	look("2")
}

// TestAFailingGuardIsLoggedUntilItWorks: a poll between two checks must not
// report recovery.
func TestAFailingGuardIsLoggedUntilItWorks(t *testing.T) {
	r, _ := shared(t)
	s, _ := opened(t, nodeOn(r, nil))
	set := func(lease string) {
		t.Helper()
		if reply, err := redistest.Command(t.Context(), r.Addr, "HSET", storeKeys.Meta, "lease", lease); reply != ":0" {
			t.Fatal(reply, err)
		}
	}
	var g guard
	now := time.Now()
	set("damaged")
	for range 3 {
		if err := s.guardOlder(t.Context(), &g, now); !errors.Is(err, errDamaged) {
			t.Errorf("got %v", err)
		}
		now = now.Add(time.Second)
	}
	set("1500")
	if err := s.guardOlder(t.Context(), &g, now.Add(guardRetry)); err != nil {
		t.Error(err)
	}
	if err := s.guardOlder(t.Context(), &g, now.Add(guardRetry)); err != nil {
		t.Error("it is told although it has ended:", err)
	}
}

// TestANodeStartedAfterALossGuardsTheSchedulesItFires: it learns only by firing
// that there are schedules.
func TestANodeStartedAfterALossGuardsTheSchedulesItFires(t *testing.T) {
	r, _ := shared(t)
	alone := nodeOn(r, func(c *Config) { c.Alone, c.CallersClock = true, true })
	first, _ := opened(t, alone)
	if _, err := first.Apply(t.Context(), began, []task.Change{eachSecond(t, "nightly")}); err != nil {
		t.Fatal(err)
	}
	_ = first.Close()
	forgetful(t, r)
	s, _ := opened(t, alone)
	if replies, err := s.Fire(t.Context(), began+1000, fires("nightly")); err != nil || replies[0].Err != nil {
		t.Fatal(replies, err)
	}
	if err := s.guardOlder(t.Context(), &guard{}, time.Now()); err != nil || oldestIn(t, r) != "2" {
		t.Errorf("the oldest is %s: %v", oldestIn(t, r), err)
	}
}

// formOf returns the first byte of the stored record of a task, and of the
// newest audit entry of its shard.
func formOf(t *testing.T, s *Store, name string) (record, entry byte) {
	t.Helper()
	sh, c := s.shard(keyed(name)), s.servers.Client
	value, err := c.Do(t.Context(), c.B().Hget().Key(sh.Meta).Field(keyspace.Field(keyed(name))).Build()).ToString()
	if err != nil {
		t.Fatal(err)
	}
	newest, err := c.Do(t.Context(), c.B().Xrevrange().Key(keyspace.LogOf(sh.Log, "default")).End("+").Start("-").Count(1).Build()).AsXRange()
	if err != nil || len(newest) != 1 {
		t.Fatal(newest, err)
	}
	return value[8], newest[0].FieldValues["e"][0]
}

func TestANewStoreHasCompactRecords(t *testing.T) {
	r := redistest.New(t)
	s, _ := opened(t, nodeOn(r, nil))
	if err := apply(t, s, order("a")); err != nil {
		t.Fatal(err)
	}
	if record, entry := formOf(t, s, "a"); record != 3 || entry != 3 || oldestIn(t, r) != "3" {
		t.Errorf("the record has the form %d, the entry %d, and the oldest is %s", record, entry, oldestIn(t, r))
	}
}

// A node of an older version may have been silent for a while, and join again.
func TestAStoreOfAnOlderVersionKeepsTheUsualForm(t *testing.T) {
	r, leaves := shared(t)
	s, _ := opened(t, nodeOn(r, func(c *Config) { c.Node = "first" }))
	now, g := time.Now(), guard{}
	create := func(name, oldest string, form byte) {
		t.Helper()
		if err := s.guardOlder(t.Context(), &g, now); err != nil || oldestIn(t, r) != oldest {
			t.Fatalf("the oldest is %s, want %s: %v", oldestIn(t, r), oldest, err)
		}
		if err := apply(t, s, order(name)); err != nil {
			t.Fatal(err)
		}
		if record, entry := formOf(t, s, name); record != form || entry != form {
			t.Errorf("the record of %s has the form %d, the entry %d, want %d", name, record, entry, form)
		}
	}
	create("a", "1", 1)
	leaves()
	now = now.Add(guardEvery)
	create("b", "1", 1)
}

func TestAFailoverDoesNotLetOlderNodesIntoACompactStore(t *testing.T) {
	r := redistest.New(t)
	s, _ := opened(t, nodeOn(r, nil))
	var g guard
	now := time.Now()
	if err := s.guardOlder(t.Context(), &g, now); err != nil {
		t.Fatal(err)
	}
	forgetful(t, r)
	if err := s.guardOlder(t.Context(), &g, now.Add(guardEvery)); err != nil || oldestIn(t, r) != "3" {
		t.Errorf("the oldest is %s: %v", oldestIn(t, r), err)
	}
}

// Nodes read both forms: some versions may have written both into one store.
func TestANodeReadsRecordsOfBothForms(t *testing.T) {
	r, leaves := shared(t)
	s, _ := opened(t, nodeOn(r, nil))
	if err := apply(t, s, order("a")); err != nil {
		t.Fatal(err)
	}
	leaves()
	s.compact.Store(true)
	if err := apply(t, s, order("b")); err != nil {
		t.Fatal(err)
	}
	for name, form := range map[string]byte{"a": 1, "b": 3} {
		if record, _ := formOf(t, s, name); record != form {
			t.Errorf("the record of %s has the form %d, want %d", name, record, form)
		}
		if got, err := s.Get(t.Context(), keyed(name)); err != nil || got.Name != name {
			t.Errorf("%s is %+v, %v", name, got, err)
		}
	}
	if page, err := s.Audit(t.Context(), settings.AuditFilter{Namespace: "default"}, 0, 10); err != nil || len(page.Entries) != 2 {
		t.Errorf("the audit log has %+v, %v", page, err)
	}
	if err := apply(t, s, task.Run{Key: keyed("a")}); err != nil {
		t.Fatal(err)
	}
	if record, _ := formOf(t, s, "a"); record != 3 {
		t.Errorf("the record that was changed has the form %d", record)
	}
}

// ofKind makes the task one of a kind.
func ofKind(c task.Create) task.Create {
	c.Spec.Request = task.Request{Kind: "close", Destination: task.KindDestination("close")}
	return c
}

func TestTheFirstKindKeepsOlderNodesOut(t *testing.T) {
	r := redistest.New(t)
	s, _ := opened(t, nodeOn(r, nil))
	leaves := joins(t, r, "older", identity.CompactFormat)
	err := apply(t, s, ofKind(order("a")))
	if !errors.Is(err, task.ErrUnavailable) || !strings.Contains(err.Error(), "does not support tasks with kinds") || oldestIn(t, r) != "3" {
		t.Fatalf("next to a node that cannot read it: %v, the oldest is %s", err, oldestIn(t, r))
	}
	leaves()
	if err := apply(t, s, ofKind(order("a"))); err != nil || oldestIn(t, r) != "4" {
		t.Fatalf("%v, the oldest is %s", err, oldestIn(t, r))
	}
	if record, _ := formOf(t, s, "a"); record != 5 {
		t.Errorf("its record has the form %d", record)
	}
	if err := apply(t, s, order("b")); err != nil {
		t.Fatal(err)
	}
	if record, _ := formOf(t, s, "b"); record != 3 {
		t.Errorf("a record without a kind has the form %d", record)
	}
	_ = s.Close()
	if s, _ = opened(t, nodeOn(r, nil)); !s.compact.Load() {
		t.Error("after a restart the store is no longer compact")
	}
}

// A store that an older version began keeps the usual form, and the old rule by
// which nodes share the shards: all its nodes must use the same rule.
func TestAKindDoesNotMakeAnOldStoreCompact(t *testing.T) {
	r, leaves := shared(t)
	leaves()
	s, _ := opened(t, nodeOn(r, nil))
	if err := apply(t, s, ofKind(order("a"))); err != nil || oldestIn(t, r) != "4" {
		t.Fatalf("%v, the oldest is %s", err, oldestIn(t, r))
	}
	if record, _ := formOf(t, s, "a"); record != 4 {
		t.Errorf("its record has the form %d", record)
	}
	_ = s.Close()
	if s, _ = opened(t, nodeOn(r, nil)); s.compact.Load() {
		t.Error("after a restart the store is compact")
	}
}
