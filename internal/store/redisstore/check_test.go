package redisstore

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/task"
)

func TestWhatMakesAServerUnfit(t *testing.T) {
	fit := facts{addr: "a:1", version: "7.0.15", policy: "noeviction", file: "1", fsync: "everysec", limit: "1000", machine: 1 << 30}
	synced := fit
	synced.fsync = "always"
	with := func(f facts, edit func(*facts)) facts { edit(&f); return f }
	for _, c := range []struct {
		config Config
		facts  facts
		want   string // a part of the refusal, "": none
	}{
		{Config{}, fit, ""},
		{Config{Durability: Strict}, synced, ""},
		{Config{}, with(fit, func(f *facts) { f.version = "8.1.0" }), ""},
		{Config{}, with(fit, func(f *facts) { f.version = "6.2.14" }), `"6.2.14"`},
		{Config{}, with(fit, func(f *facts) { f.version = "" }), "older"},
		{Config{}, with(fit, func(f *facts) { f.policy = "allkeys-lru" }), "allkeys-lru"},
		{Config{UnsafeEviction: true}, with(fit, func(f *facts) { f.policy = "allkeys-lru" }), ""},
		{Config{}, with(fit, func(f *facts) { f.limit = "0" }), ""},
		{Config{}, with(fit, func(f *facts) { f.limit, f.machine = "0", 0 }), "maxmemory is 0"},
		{Config{Memory: 1}, with(fit, func(f *facts) { f.limit, f.machine = "0", 0 }), ""},
		{Config{}, with(fit, func(f *facts) { f.file = "0" }), "appendonly is no"},
		{Config{UnsafePersistence: true}, with(fit, func(f *facts) { f.file, f.fsync = "0", "" }), ""},
		{Config{}, with(fit, func(f *facts) { f.fsync = "no" }), "appendfsync is no"},
		{Config{}, with(fit, func(f *facts) { f.fsync = "" }), ""},
		{Config{Durability: Strict}, with(fit, func(f *facts) { f.fsync = "" }), "is unknown"},
		{Config{Durability: Strict}, fit, "everysec"},
	} {
		got := fmt.Sprint(errors.Join(c.config.conn().refusals(c.facts)...))
		if c.want == "" && got != "<nil>" || !strings.Contains(got, c.want) || c.want != "" && !strings.Contains(got, ": at a:1 ") {
			t.Errorf("%+v, %+v: %s", c.config, c.facts, got)
		}
	}
}

// CONFIG SET alone is undone by a restart: all tasks that were accepted since are lost then.
func TestEachRemedySurvivesARestartOfRedis(t *testing.T) {
	unfit := facts{addr: "a:1", version: "7.0.15", policy: "allkeys-lru", file: "0", fsync: "no", limit: "0", machine: 1 << 30, replicas: 1}
	for _, config := range []string{"", "/etc/redis/redis.conf"} {
		f := unfit
		f.config = config
		remedies := connConfig{Durability: Default}.risks(condition{facts: f, limit: 1 << 29, derived: true})
		synced := f
		synced.file = "1"
		for _, level := range []Durability{Default, Strict} {
			for _, f := range []facts{f, synced, {addr: "a:1", version: "7.0.15", policy: "noeviction", file: "1", fsync: "everysec", limit: "1", config: config}} {
				for _, err := range (connConfig{Durability: level}).refusals(f) {
					remedies = append(remedies, err.Error())
				}
			}
		}
		if len(remedies) < 8 {
			t.Errorf("%d remedies", len(remedies))
		}
		for _, text := range remedies {
			if config == "" && !strings.Contains(text, "into the redis.conf that it is started with") || config != "" && !strings.Contains(text, "CONFIG REWRITE, which writes "+config) {
				t.Error(text)
			}
		}
	}
}

func TestAServerThatWouldLoseTasksIsRefused(t *testing.T) {
	addr := redistest.New(t, "--maxmemory-policy", "allkeys-lru", "--appendonly", "no", "--maxmemory", "0").Addr
	c := Config{Client: rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true}, Alone: true}
	_, err := Open(t.Context(), c)
	for _, part := range []string{"allkeys-lru", "appendonly is no", addr} {
		if !errors.Is(err, ErrUnfit) || !strings.Contains(err.Error(), part) {
			t.Fatalf("without %q: %v", part, err)
		}
	}
	c.UnsafeEviction, c.UnsafePersistence, c.Memory = true, true, 1<<20
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
}

func TestAUserWhoMayNotReadTheConfiguration(t *testing.T) {
	addr := redistest.New(t, "--appendfsync", "always").Addr
	if reply, err := redistest.Command(t.Context(), addr, "ACL", "SETUSER", "app", "on", ">secret", "~foliot:*", "&foliot:*", "+@all", "-config"); reply != "+OK" {
		t.Fatal(reply, err)
	}
	c := Config{Client: rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, Username: "app", Password: "secret"}, Alone: true}
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	c.Durability = Strict
	if _, err := Open(t.Context(), c); !errors.Is(err, ErrUnfit) || !strings.Contains(err.Error(), "+config|get") {
		t.Fatal(err)
	}
}

// fill writes what is none of ours until the server has no memory left, and then
// takes some from it: what a refused write needed itself is free again.
func fill(t *testing.T, addr string) {
	t.Helper()
	for {
		reply, err := redistest.Command(t.Context(), addr, "RPUSH", "fill", strings.Repeat("x", 256<<10))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(reply, "-OOM") {
			break
		}
	}
	if reply, err := redistest.Command(t.Context(), addr, "CONFIG", "SET", "maxmemory", "19mb"); reply != "+OK" {
		t.Fatal(reply, err)
	}
}

func TestAFullServerTakesNoNewTasksAndTheOthersGoOn(t *testing.T) {
	for _, polled := range []bool{false, true} {
		t.Run(fmt.Sprintf("known before: %v", polled), func(t *testing.T) {
			addr := redistest.New(t, "--maxmemory", "20mb").Addr
			s := openLevel(t, Default, 0, addr)
			soon := func(name string) task.Create {
				c := order(name)
				c.Spec.When.Delay = 0
				c.Spec.When.At = task.FloorMillis(time.Now()) - 1
				return c
			}
			if err := apply(t, s, soon("a"), order("b"), order("c")); err != nil {
				t.Fatal(err)
			}
			fill(t, addr)
			if polled {
				if err := s.servers.look(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if err := apply(t, s, order("d")); !errors.Is(err, task.ErrFull) {
				t.Fatalf("create: %v", err)
			}
			plain := order("e")
			plain.Idempotency = nil
			if err := apply(t, s, plain); !errors.Is(err, task.ErrFull) {
				t.Fatalf("create without an Idempotency-Key: %v", err)
			}
			if err := apply(t, s, task.Cancel{Key: order("b").Target()}); err != nil {
				t.Fatalf("cancel: %v", err)
			}
			a, err := s.Get(t.Context(), order("a").Target())
			if err != nil {
				t.Fatal(err)
			}
			now := task.FloorMillis(time.Now())
			got, err := s.Claim(t.Context(), now, []task.Claim{{Key: a.Key(), Lane: a.Lane(), Token: "1", Until: now + 10_000}})
			if err != nil || got[0].Err != nil {
				t.Fatalf("claim: %v, %v", got, err)
			}
			got, err = s.Settle(t.Context(), now+1, []task.Settlement{{Key: a.Key(), Token: "1", Outcome: task.Outcome{Verdict: task.Success}}})
			if err != nil || got[0].Err != nil {
				t.Fatalf("settle: %v, %v", got, err)
			}
		})
	}
}
