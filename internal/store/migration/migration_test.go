package migration

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/history"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/servertest/pgtest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/store/pebblestore"
	"github.com/foliot/foliot/internal/store/pgstore"
	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/store/storetest"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

var size = flag.Int("records", 300, "about how many records are moved")

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main{M: m}) }

// place is a place for a store, which open opens.
type place struct {
	name string
	open func(t testing.TB, how mode) Store
}

// mode is how a store is opened.
type mode int

const (
	asClient mode = iota
	asNode
	alone
)

var kinds = map[string]func(t testing.TB) place{
	"directory": func(t testing.TB) place {
		dir := t.TempDir() + "/data"
		return place{dir, func(t testing.TB, _ mode) Store {
			s, err := pebblestore.Open(dir, pebblestore.Config{})
			fatal.If(t, err)
			return closes(t, s, dir, time.Now)
		}}
	},
	"redis": func(t testing.TB) place {
		server := redistest.New(t)
		return place{server.Addr, func(t testing.TB, how mode) Store {
			c := redisstore.Config{Shared: store.Shared{Node: "a", Embedded: how == asClient, CallersClock: how == alone}}
			c.Client.InitAddress, c.Client.DisableCache, c.Client.DisableRetry = []string{server.Addr}, true, true
			s, err := redisstore.Open(t.Context(), c)
			fatal.If(t, err)
			return closes(t, s, server.Addr, s.Now)
		}}
	},
	"postgres": func(t testing.TB) place {
		server := pgtest.Shared(t)
		url := server.URL() + "&search_path=" + server.Schema(t)
		fatal.If(t, pgstore.Migrate(t.Context(), url))
		return place{url, func(t testing.TB, how mode) Store {
			s, err := pgstore.Open(t.Context(), pgstore.Config{URL: url, Shared: store.Shared{Node: "a", Embedded: how == asClient, CallersClock: how == alone}})
			fatal.If(t, err)
			return closes(t, s, url, s.Now)
		}}
	},
}

func closes(t testing.TB, s store.Store, name string, now func() time.Time) Store {
	t.Cleanup(func() { fatal.If(t, s.Close()) })
	return Store{Store: s, Name: name, Now: now}
}

// now is a time at which each record of mixture is retained.
const now task.Millis = 1_800_000_000_000

// mixture returns contents with about n records in every state, of schedules and with
// large bodies.
func mixture(n int) (c storetest.Contents) {
	reference := func(now task.Millis, c storetest.Contents) store.Store {
		return storetest.Refill(memstore.New(memstore.Config{Policy: storetest.Policy, AuditKeep: storetest.AuditKeep}), now, c)
	}
	var some []storetest.Contents
	for seed := range uint64(20) {
		some = append(some, storetest.Mixture(reference, seed))
	}
	for copies := 0; len(c.Records) < n; copies++ {
		part := some[copies%len(some)]
		if copies < len(some) {
			c.Audit = append(c.Audit, part.Audit...)
		}
		for _, t := range part.Records {
			t = t.Clone()
			prefix := fmt.Sprintf("c%d-", copies)
			if t.IsSchedule() {
				t.Name = "@" + prefix + t.Name[1:]
			} else {
				t.Name = prefix + t.Name
			}
			if t.ID = prefix + t.ID; t.Lease != nil {
				t.Lease.TaskID = prefix + t.Lease.TaskID
			}
			if t.Idempotency != nil {
				t.Idempotency.Key = prefix + t.Idempotency.Key
			}
			c.Records = append(c.Records, t)
		}
	}
	all := settings.NewSettings(some[0].Settings...)
	for _, part := range some {
		for _, r := range part.Settings {
			if k := r.Key(); k.Kind == settings.TokenKind || k.Kind == settings.SecretKind || all.Get(k) == nil {
				all = all.With(settings.SettingChange{Key: k, Value: r})
			}
		}
	}
	for kind := settings.QueueKind; kind < settings.MigrationKind; kind++ {
		c.Settings = append(c.Settings, all.List(kind, "")...)
	}
	return c
}

// fill writes contents to an empty store, and closes it.
func fill(t *testing.T, p place, c storetest.Contents) {
	t.Run("fill", func(t *testing.T) {
		s := p.open(t, asClient)
		m := Migration{From: s, To: s, Progress: func(int) {}}
		var changes []settings.SettingChange
		for _, r := range c.Settings {
			changes = append(changes, settings.SettingChange{Key: r.Key(), Value: r})
		}
		fatal.If(t, configure(t.Context(), s, changes...))
		_, err := s.Configure(t.Context(), now, []settings.Edit{settings.Note(c.Audit)})
		fatal.If(t, err)
		for records := c.Records; len(records) > 0; records = records[min(pageSize, len(records)):] {
			fatal.If(t, m.adopt(t.Context(), records[:min(pageSize, len(records))]))
		}
	})
}

// contentsOf returns what a store has.
func contentsOf(t *testing.T, s Store) (c storetest.Contents) {
	t.Helper()
	for _, namespace := range namespaces {
		tasks, err := storetest.DrainAll(t.Context(), s, namespace, task.Page{Limit: 1000, Bodies: true})
		fatal.If(t, err)
		c.Records = append(c.Records, tasks...)
	}
	c.Settings = settingsOf(s)
	log, err := auditOf(t.Context(), s)
	fatal.If(t, err)
	for i := range log {
		log[i].Seq = 0
	}
	c.Audit = log
	return c
}

var namespaces = []string{"default", "default2"}

// between returns the migration between two places.
func between(t *testing.T, from, to place) *Migration {
	return &Migration{From: from.open(t, asClient), To: to.open(t, asClient), Progress: func(int) {}}
}

func TestAStoreMovesAsItIs(t *testing.T) {
	c := mixture(*size)
	states := map[task.State]int{}
	for _, r := range c.Records {
		states[r.State]++
	}
	if len(states) != int(task.Dead) || len(c.Settings) < 5 || len(c.Audit) < 50 {
		t.Fatalf("the mixture has records in %v, %d settings and %d entries", states, len(c.Settings), len(c.Audit))
	}
	for _, pair := range strings.Fields("directory-redis directory-postgres redis-directory redis-postgres postgres-directory postgres-redis directory-directory") {
		t.Run(pair, func(t *testing.T) {
			t.Parallel()
			source, target, _ := strings.Cut(pair, "-")
			from, to := kinds[source](t), kinds[target](t)
			fill(t, from, c)
			var moved storetest.Contents
			t.Run("migrate", func(t *testing.T) {
				m := between(t, from, to)
				now := task.CeilMillis(m.To.Now())
				past := []history.Part{{Hour: true, At: now - 100*3_600_000, Data: []byte("hour")}, {At: now - 60_000, Writer: "w", Data: []byte("minute")}}
				fatal.If(t, m.From.Remember(t.Context(), now, past))
				moved = contentsOf(t, m.From)
				if len(moved.Records) != len(c.Records) {
					t.Fatalf("the source has %d records, want %d", len(moved.Records), len(c.Records))
				}
				began := time.Now()
				got, err := m.Run(t.Context())
				fatal.If(t, err)
				t.Logf("moved %v in %v", got, time.Since(began))
				for _, p := range past {
					if got, err := m.To.History(t.Context(), p.Hour, p.At, p.At+1); err != nil || !reflect.DeepEqual(got, []history.Part{p}) {
						t.Errorf("the history has %v, want %v: %v", got, p, err)
					}
				}
				refuses(t, m.From)
				if _, err := m.Run(t.Context()); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "has moved to") {
					t.Errorf("a migration that has ended: %v", err)
				}
			})
			if source == "redis" {
				t.Run("again", func(t *testing.T) { refuses(t, from.open(t, asNode)) })
			}
			t.Run("result", func(t *testing.T) {
				s := to.open(t, alone)
				if target == "directory" { // it has taken the leases back
					return
				}
				equal(t, moved, contentsOf(t, s))
				whole(t, s)
			})
		})
	}
}

func equal(t *testing.T, source, target storetest.Contents) {
	t.Helper()
	if !reflect.DeepEqual(source, target) { // which is faster than a Diff of large bodies
		t.Errorf("(-source +target)\n%s", cmp.Diff(source, target))
	}
}

// whole checks that a store has all index entries, and takes steps again.
func whole(t *testing.T, s Store) {
	t.Helper()
	storetest.CheckInvariants(t, s, now, namespaces...)
	for cursor, more := "", true; more; more = cursor != "" {
		found, err := s.Scrub(t.Context(), 0, cursor, 1000)
		fatal.If(t, err)
		for _, r := range found.Repairs {
			t.Errorf("%v: %s", r.Key, r.Found)
		}
		cursor = found.Next
	}
	for _, r := range contentsOf(t, s).Records {
		if r.Idempotency != nil && !r.IsSchedule() {
			spec := tasktest.Spec("another", now)
			spec.Namespace = r.Namespace
			reply := change(t, s, task.Create{Spec: spec, Idempotency: r.Idempotency})
			if !errors.Is(reply.Err, task.ErrIdempotencyReuse) {
				t.Errorf("the Idempotency-Key of %s can be used again: %v", r.Name, reply.Err)
			}
			break
		}
	}
}

func change(t *testing.T, s Store, c task.Change) store.Reply {
	t.Helper()
	replies, err := s.Transit(t.Context(), task.CeilMillis(s.Now()), store.Changes([]task.Change{c}))
	fatal.If(t, err)
	return replies[0]
}

// refuses checks that a store takes no step.
func refuses(t *testing.T, s Store) {
	t.Helper()
	if r := change(t, s, task.Create{Spec: tasktest.Spec("new", now)}); !errors.Is(r.Err, task.ErrUnavailable) || !strings.Contains(r.Err.Error(), "foliot migrate") {
		t.Errorf("a closed store takes a task: %v", r.Err)
	}
}

// A run that ended anywhere is repeated until one reaches the end, by a new process
// each time.
func TestAMigrationThatWasInterruptedIsRepeated(t *testing.T) {
	c := mixture(quick.Of(max(*size, 2500), 300))
	for _, pair := range strings.Fields("directory-redis redis-postgres postgres-directory") {
		t.Run(pair, func(t *testing.T) {
			t.Parallel()
			source, target, _ := strings.Cut(pair, "-")
			from, to := kinds[source](t), kinds[target](t)
			fill(t, from, c)
			var moved storetest.Contents
			t.Run("source", func(t *testing.T) { moved = contentsOf(t, from.open(t, asClient)) })
			for interrupted := 0; ; interrupted++ {
				done := false
				t.Run("run", func(t *testing.T) {
					m := between(t, from, to)
					ctx, stop := context.WithCancel(t.Context())
					defer stop()
					ends := time.AfterFunc(rand.N(time.Second), stop)
					defer ends.Stop()
					left := rand.N(3 * len(c.Records))
					if m.Progress = func(n int) {
						if left -= n; left < 0 {
							stop()
						}
					}; interrupted > 4 {
						ctx = t.Context()
					}
					_, err := m.Run(ctx)
					done = err == nil || strings.Contains(err.Error(), "has moved to") // the reply of the run before was lost
					if !done && !errors.Is(err, context.Canceled) {
						t.Fatal(err)
					}
					if done {
						refuses(t, m.From)
						equal(t, moved, contentsOf(t, m.To))
					} else if mark(m.To) != nil {
						refuses(t, m.To)
					}
				})
				if done || t.Failed() {
					return
				}
			}
		})
	}
}

func TestStoresThatAreInUseOrNotEmptyAreRefused(t *testing.T) {
	check := func(t *testing.T, m *Migration, says string) {
		t.Helper()
		if _, err := m.Run(t.Context()); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), says) {
			t.Errorf("it says %v, want %q", err, says)
		}
		if mark(m.From) != nil {
			t.Error("the source is closed")
		}
	}
	one := mixture(1)
	for _, kind := range []string{"redis", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			shared, dir, full := kinds[kind](t), kinds["directory"](t), kinds["directory"](t)
			fill(t, full, one)
			node := shared.open(t, asNode)
			cluster := node.Store.(store.Cluster)
			redistest.Until(t, "the node owns shards", func() bool { return node.Standing().Owned > 0 })
			check(t, between(t, shared, dir), "is in use by a")
			check(t, &Migration{From: full.open(t, asClient), To: shared.open(t, asClient)}, "is in use by a")
			fatal.If(t, cluster.Drain(t.Context(), now, store.Drain{Node: "a", Force: true}))
			redistest.Until(t, "the node owns no shards", func() bool { return node.Standing().Owned == 0 })
			m := &Migration{From: shared.open(t, asClient), To: kinds["directory"](t).open(t, asClient), Progress: func(int) {}}
			_, err := m.Run(t.Context())
			fatal.If(t, err)
			refuses(t, node)
		})
	}
	t.Run("not empty", func(t *testing.T) {
		m := between(t, kinds["directory"](t), kinds["directory"](t))
		_, err := m.To.Configure(t.Context(), now, []settings.Edit{settings.PutNamespace{Settings: settings.NamespaceSettings{Name: "other"}}})
		fatal.If(t, err)
		check(t, m, "is not empty")
	})
}

func TestAMigrationThatHasNotEndedIsUndone(t *testing.T) {
	from, to, other := kinds["directory"](t), kinds["directory"](t), kinds["directory"](t)
	c := mixture(1500)
	fill(t, from, c)
	m := between(t, from, to)
	ctx, stop := context.WithCancel(t.Context())
	m.Progress = func(int) { stop() }
	if _, err := m.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	third := *m
	third.To = other.open(t, asClient)
	for _, err := range []error{third.Check(ctx), third.Undo(ctx)} {
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "belongs to the migration from") {
			t.Errorf("another migration from the same store: %v", err)
		}
	}
	fatal.If(t, m.Undo(t.Context()))
	if r := change(t, m.From, task.Create{Spec: tasktest.Spec("new", now)}); errors.Is(r.Err, task.ErrUnavailable) {
		t.Errorf("the source is closed: %v", r.Err)
	}
	refuses(t, m.To)

	// The source has changed since, so the part of the target is not a part of it.
	m.Progress = func(int) {}
	swept, err := m.From.Sweep(t.Context(), task.Never, len(c.Records))
	fatal.If(t, err)
	if swept == 0 {
		t.Fatal("no record was removed")
	}
	if _, err := m.Run(t.Context()); !errors.Is(err, ErrDiffers) {
		t.Errorf("a target with too many records: %v", err)
	}
	refuses(t, m.To)
}

// The tasks of a target can have ended and be gone. Another run would make them again.
func TestAMigrationThatHasEndedIsNotRepeated(t *testing.T) {
	from, to := kinds["directory"](t), kinds["directory"](t)
	m := between(t, from, to)
	r := change(t, m.From, task.Create{Spec: tasktest.Spec("a", now)})
	fatal.If(t, r.Err)
	_, err := m.Run(t.Context())
	fatal.If(t, err)
	fatal.If(t, change(t, m.To, task.Cancel{Key: tasktest.Key("a")}).Err)
	if n, err := m.To.Sweep(t.Context(), task.Never, 10); n != 1 || err != nil {
		t.Fatalf("%d tasks are swept: %v", n, err)
	}
	if _, err := m.Run(t.Context()); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "has moved to") {
		t.Errorf("another run: %v", err)
	}
	mark := m.mark().Value
	fatal.If(t, configure(t.Context(), m.To, settings.SettingChange{Key: mark.Key(), Value: mark})) // as if the run had ended before it opened the target
	_, err = m.Run(t.Context())
	fatal.If(t, err)
	if _, err := m.To.Get(t.Context(), tasktest.Key("a")); !errors.Is(err, task.ErrNotFound) || m.To.Standing().Settings.Migration() != nil {
		t.Errorf("the target is closed, or has the task again: %v", err)
	}
	fatal.If(t, m.Undo(t.Context()))
}

// sql runs a statement in the schema of a PostgreSQL.
func sql(t *testing.T, p place, statement string) {
	t.Helper()
	url, schema, _ := strings.Cut(p.name, "&search_path=")
	_, err := pgtest.Psql(t.Context(), url, "SET search_path = "+schema+"; "+statement)
	fatal.If(t, err)
}

// Puts by SQL functions move too, although no node has written them.
func TestPutsOfSQLFunctionsMove(t *testing.T) {
	from, to := kinds["postgres"](t), kinds["directory"](t)
	sql(t, from, "SELECT put('order-1-close', 'https://x.example/', delay => '1 h')")
	m := between(t, from, to)
	moved, err := m.Run(t.Context())
	fatal.If(t, err)
	if tasks, _ := moved.Tasks(); tasks != 1 {
		t.Errorf("%d tasks have moved", tasks)
	}
	_, err = m.To.Get(t.Context(), tasktest.Key("order-1-close"))
	fatal.If(t, err)
	t.Run("a target with puts is not empty", func(t *testing.T) {
		to := kinds["postgres"](t)
		sql(t, to, "SELECT put('order-1-close', 'https://x.example/', delay => '1 h')")
		if _, err := between(t, kinds["directory"](t), to).Run(t.Context()); !errors.Is(err, ErrRefused) {
			t.Errorf("%v", err)
		}
	})
}
