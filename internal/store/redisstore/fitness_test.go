package redisstore

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// A Redis that was fit when the store was opened may later get other settings,
// restart with other options, or be replaced by a replica with other settings.
func TestAnUnfitRedisTakesNoNewTasksAndIsNotReady(t *testing.T) {
	quick.Leave(t, "starts several servers")
	t.Parallel()
	for name, c := range map[string]struct {
		level        redisconn.Durability
		change, undo []string // a setting and its value
		found        string
	}{
		"eviction":   {redisconn.Default, []string{"maxmemory-policy", "allkeys-lru"}, []string{"maxmemory-policy", "noeviction"}, "allkeys-lru"},
		"no file":    {redisconn.Default, []string{"appendonly", "no"}, []string{"appendonly", "yes"}, "appendonly is no"},
		"no sync":    {redisconn.Default, []string{"appendfsync", "no"}, []string{"appendfsync", "everysec"}, "appendfsync is no"},
		"rare syncs": {redisconn.Strict, []string{"appendfsync", "everysec"}, []string{"appendfsync", "always"}, "needs always"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := redistest.New(t, "--appendfsync", "always")
			k := fitNode(t, Config{Durability: c.level}, r.Addr)
			due := soon(t, k.Store, "due", 1, -time.Minute)
			redis(t, r, append([]string{"CONFIG", "SET"}, c.change...)...)
			took := eventually(t, "it is not ready", func() bool { return errors.Is(k.Standing().Err, task.ErrStoreUnfit) })
			t.Logf("noticed after %v: %v", took.Round(time.Millisecond), k.Standing().Err)
			if !errors.Is(k.Standing().Err, task.ErrStoreUnfit) || !strings.Contains(k.Standing().Err.Error(), c.found) {
				t.Errorf("%+v, %v", k.Standing(), k.Standing().Err)
			}
			if err := apply(t, k.Store, order("new")); !errors.Is(err, task.ErrStoreUnfit) || !errors.Is(err, task.ErrFull) {
				t.Errorf("create: %v", err)
			}
			if err := transit(t, k.Store, task.FloorMillis(time.Now()), store.Claims(claimsOf('k', due))); err != nil {
				t.Errorf("claim of a task that exists: %v", err)
			}
			if n := k.log.count("level=ERROR"); n != 1 {
				t.Errorf("%d errors in its log:\n%s", n, k.log.b.String())
			}
			redis(t, r, append([]string{"CONFIG", "SET"}, c.undo...)...)
			eventually(t, "it is ready again", func() bool { return k.Standing().Err == nil })
			if err := apply(t, k.Store, order("new")); err != nil || k.log.count("fit for tasks again") != 1 {
				t.Errorf("create: %v; its log:\n%s", err, k.log.b.String())
			}
		})
	}
}

// If a remedy is not in redis.conf, the store has its data now, and the next
// crash would lose it.
func TestARedisRestartedWithoutAppendOnlyIsUnfitAfterTheReconnect(t *testing.T) {
	quick.Leave(t, "waits for an outage")
	t.Parallel()
	r := redistest.New(t)
	k := fitNode(t, Config{}, r.Addr)
	redis(t, r, "SAVE")
	r.Kill()
	eventually(t, "it knows that Redis is away", func() bool { return errors.Is(k.Standing().Err, task.ErrUnavailable) })
	fatal.If(t, r.Restart("--appendonly", "no"))
	took := eventually(t, "it is not ready", func() bool { return errors.Is(k.Standing().Err, task.ErrStoreUnfit) })
	t.Logf("noticed %v after Redis was back: %v", took.Round(time.Millisecond), k.Standing().Err)
	if k.identity.Lost() != nil {
		t.Error("the data is there:", k.identity.Lost())
	}
	if err := apply(t, k.Store, order("new")); !errors.Is(err, task.ErrStoreUnfit) {
		t.Errorf("create: %v", err)
	}
}

// fitNode returns a node on a fit store, with its log.
func fitNode(t *testing.T, c Config, addr string) *known {
	t.Helper()
	k := &known{log: &lockedBuffer{}}
	c.Logger = slog.New(slog.NewTextHandler(k.log, nil))
	k.Store = openNodeWith(t, c, addr)
	eventually(t, "it owns the shards", func() bool { return divided(k.Store) })
	if k.Standing().Err != nil {
		t.Fatal(k.Standing().Err)
	}
	return k
}

// Packages install Redis without maxmemory. The bound is then a fraction of the
// machine's memory, and the masters of one machine share it.
func TestARedisWithoutMaxmemoryIsBoundedByItsMachine(t *testing.T) {
	t.Parallel()
	r := redistest.New(t, "--maxmemory", "0")
	log := &lockedBuffer{}
	s, err := Open(t.Context(), Config{Client: rueidis.ClientOption{InitAddress: []string{r.Addr}, DisableCache: true}, Shards: 8, Alone: true, Shared: store.Shared{Logger: slog.New(slog.NewTextHandler(log, nil))}})
	fatal.If(t, err)
	defer s.Close()
	fatal.If(t, apply(t, s, order("a")))
	if s.Standing().Err != nil || log.count("maxmemory is 0") != 1 || log.count("redis.conf") == 0 {
		t.Errorf("%v; its log:\n%s", s.Standing().Err, log.b.String())
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
	c.Unsafe = true
	s, err := Open(t.Context(), c)
	fatal.If(t, err)
	_ = s.Close()
}

func TestStrictRefusesAUserWhoMayNotReadTheConfiguration(t *testing.T) {
	addr := redistest.New(t, "--appendfsync", "always").Addr
	if reply, err := redistest.Command(t.Context(), addr, "ACL", "SETUSER", "app", "on", ">secret", "~foliot:*", "&foliot:*", "+@all", "-config"); reply != "+OK" {
		t.Fatal(reply, err)
	}
	c := Config{Client: rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, Username: "app", Password: "secret"}, Alone: true}
	s, err := Open(t.Context(), c)
	fatal.If(t, err)
	_ = s.Close()
	c.Durability = Strict
	if _, err := Open(t.Context(), c); !errors.Is(err, ErrUnfit) || !strings.Contains(err.Error(), "+config|get") {
		t.Fatal(err)
	}
}

// After a network split, a replicated master that goes on alone loses the
// writes it accepts.
func TestTheRiskOfANetworkSplitIsLogged(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	for _, c := range []struct {
		min   string
		level redisconn.Durability
		warns int
	}{{"0", redisconn.Default, 1}, {"0", redisconn.Async, 1}, {"1", redisconn.Default, 0}} {
		redis(t, p.master, "CONFIG", "SET", "min-replicas-to-write", c.min)
		log := &lockedBuffer{}
		k := Config{Client: rueidis.ClientOption{InitAddress: []string{p.master.Addr}, DisableCache: true}, Shards: 8, Alone: true, Durability: c.level, Shared: store.Shared{Logger: slog.New(slog.NewTextHandler(log, nil))}}
		s, err := Open(t.Context(), k)
		fatal.If(t, err)
		x, err := s.Examine(t.Context())
		if err != nil || len(x.Masters) != 1 || len(x.Masters[0].Risks) != c.warns {
			t.Errorf("%+v: %+v, %v", c, x, err)
		}
		_ = s.Close()
		if n := log.count("min-replicas-to-write 1 min-replicas-max-lag 2"); n != c.warns {
			t.Errorf("%+v: %d warnings:\n%s", c, n, log.b.String())
		}
	}
}

func TestANodeIsReadyOnlyWhileItsRedisTakesWrites(t *testing.T) {
	quick.Leave(t, "waits for checks of Redis")
	t.Parallel()
	dir := t.TempDir()
	fatal.If(t, os.Mkdir(filepath.Join(dir, "taken"), 0o700))
	misconf := redistest.New(t, "--dir", dir, "--dbfilename", "taken", "--save", "3600 1000")
	p := newPair(t)
	alone := redistest.New(t)
	for name, c := range map[string]struct {
		r            *redistest.Server
		refuse, undo func()
		says         string
	}{
		"NOREPLICAS": {alone, func() { redis(t, alone, "CONFIG", "SET", "min-replicas-to-write", "1") }, func() { redis(t, alone, "CONFIG", "SET", "min-replicas-to-write", "0") }, "check that the replicas run"},
		"MISCONF":    {misconf, func() { redis(t, misconf, "BGSAVE") }, func() { redis(t, misconf, "CONFIG", "SET", "stop-writes-on-bgsave-error", "no") }, "vm.overcommit_memory"},
		"READONLY": {p.master, func() {
			redis(t, p.replica, "REPLICAOF", "NO", "ONE")
			host, port, _ := strings.Cut(p.replica.Addr, ":")
			redis(t, p.master, "REPLICAOF", host, port)
		}, func() { redis(t, p.master, "REPLICAOF", "NO", "ONE") }, "name the master"},
	} {
		t.Run(name, func(t *testing.T) {
			k := fitNode(t, Config{Shared: store.Shared{Node: "k"}}, c.r.Addr)
			c.refuse()
			eventually(t, "it is not ready", func() bool {
				return errors.Is(k.Standing().Err, task.ErrUnavailable) && strings.Contains(k.Standing().Err.Error(), name)
			})
			if err := apply(t, k.Store, order("new")); !errors.Is(err, task.ErrUnavailable) {
				t.Errorf("create: %v", err)
			}
			x, err := Examine(t.Context(), Config{Client: rueidis.ClientOption{InitAddress: []string{c.r.Addr}, DisableCache: true, ForceSingleClient: true}})
			if err != nil || x.Masters[0].Refused == nil || !strings.Contains(x.Masters[0].Refused.Error(), c.says) {
				t.Errorf("%+v, %v", x, err)
			}
			if name == "READONLY" {
				other := openNodeWith(t, Config{Shared: store.Shared{Node: "other"}}, p.replica.Addr)
				eventually(t, "it does not count as live", func() bool {
					return errors.Is(other.Drain(t.Context(), task.CeilMillis(time.Now()), store.Drain{Node: "other"}), store.ErrLastNode)
				})
				_ = other.Close()
			}
			c.undo()
			eventually(t, "it is ready again", func() bool { return k.Standing().Err == nil })
			if err := apply(t, k.Store, order("new")); err != nil {
				t.Errorf("create: %v", err)
			}
		})
	}
}
