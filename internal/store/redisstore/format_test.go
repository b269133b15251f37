package redisstore

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/redisstore/identity"
)

// nodeOn returns the configuration of a node with short waits.
func nodeOn(r *redistest.Server, edit func(*Config)) Config {
	c := Config{Client: rueidis.ClientOption{InitAddress: []string{r.Addr}, DisableCache: true}, Shards: 16, ShardLease: time.Second}
	if edit != nil {
		edit(&c)
	}
	return c
}

// refused opens a store that must be refused. The error must contain parts.
func refused(t *testing.T, c Config, parts ...string) {
	t.Helper()
	s, err := Open(t.Context(), c)
	if err == nil {
		_ = s.Close()
	}
	for _, part := range parts {
		if !errors.Is(err, identity.ErrDiffers) || !strings.Contains(err.Error(), part) {
			t.Errorf("without %q: %v", part, err)
		}
	}
}

// opened opens a store, and returns its number of shards.
func opened(t *testing.T, c Config) (*Store, int) {
	t.Helper()
	s, err := Open(t.Context(), c)
	fatal.If(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s, len(s.shards)
}

func TestTheFirstNodeSetsTheNumberOfShards(t *testing.T) {
	r := redistest.New(t)
	first, n := opened(t, nodeOn(r, nil))
	if n != 16 {
		t.Errorf("%d shards, want 16", n)
	}
	if _, n := opened(t, nodeOn(r, func(c *Config) { c.Shards = 0 })); n != 16 {
		t.Errorf("who says nothing has %d shards", n)
	}
	refused(t, nodeOn(r, func(c *Config) { c.Shards = 32 }), "16 shards", "--shards 16")
	_ = first.Close()
	refused(t, nodeOn(r, func(c *Config) { c.Shards = 32 }), "16 shards")

	other := redistest.New(t)
	if _, n := opened(t, nodeOn(other, func(c *Config) { c.Shards = 0 })); n != identity.DefaultShards(false) {
		t.Errorf("%d shards where nobody says", n)
	}
}

func TestNodesThatOpenAtOnceAgree(t *testing.T) {
	r := redistest.New(t)
	var mu sync.Mutex
	sizes := map[int]int{}
	var work sync.WaitGroup
	for i := range 8 {
		work.Go(func() {
			s, err := Open(t.Context(), nodeOn(r, func(c *Config) { c.Shards = 1 << (i % 4) }))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				sizes[len(s.shards)]++
				t.Cleanup(func() { _ = s.Close() })
			case !errors.Is(err, identity.ErrDiffers):
				t.Error(err)
			}
		})
	}
	work.Wait()
	if len(sizes) != 1 {
		t.Errorf("nodes have so many shards: %v", sizes)
	}
}

func TestTheShardLeaseMayChangeWhileNoNodeIsLive(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	s, _ := opened(t, nodeOn(r, func(c *Config) { c.Node = "first" }))
	longer := nodeOn(r, func(c *Config) { c.ShardLease = 3 * time.Second })
	refused(t, longer, "1s", "3s", "first")
	_ = s.Close()
	_, _ = opened(t, longer)
	refused(t, nodeOn(r, nil), "--shard-lease 3s")
}

func TestAStoreOfAnotherFormatIsRefusedAndNotChanged(t *testing.T) {
	for found, edit := range map[string][]string{
		"format 1,": {"HSET", storeKeys.Meta, "format", "1"},
		"format 7,": {"HSET", storeKeys.Meta, "format", "7"},
	} {
		r := redistest.New(t)
		s, _ := opened(t, nodeOn(r, nil))
		_ = s.Close()
		redis(t, r, edit...)
		content := func() string {
			return redis(t, r, "EVAL", `local all = redis.call('KEYS', '*') table.sort(all) local d = ''
				for _, k in ipairs(all) do d = d .. k .. redis.sha1hex(redis.call('DUMP', k)) end return d`, "0")
		}
		before := content()
		refused(t, nodeOn(r, func(c *Config) { c.ShardLease *= 2 }), found, "reads only format 6", "foliot export", "foliot import")
		if after := content(); after != before {
			t.Errorf("%s: the store was\n%s\nand is\n%s", found, before, after)
		}
	}
}

func TestAFormatWithoutItsValuesIsDamaged(t *testing.T) {
	r := redistest.New(t)
	s, _ := opened(t, nodeOn(r, nil))
	_ = s.Close()
	redis(t, r, "HSET", storeKeys.Meta, "shards", "many")
	if _, err := Open(t.Context(), nodeOn(r, nil)); !errors.Is(err, codec.ErrDamaged) || !strings.Contains(err.Error(), "shards") {
		t.Error(err)
	}
}

// A Redis that is reading its file reports that it has no append-only file.
func TestAStartWaitsWhileTheServerReadsItsFile(t *testing.T) {
	long(t)
	r := redistest.New(t)
	if reply, err := redistest.Command(t.Context(), r.Addr, "EVAL", "for i = 1, 3000 do redis.call('SET', i, string.rep('x', 200)) end return 1", "0"); reply != ":1" {
		t.Fatal(reply, err)
	}
	// In the form of commands the file would be loaded 1024 at a time, without
	// any reply in between.
	if reply, err := redistest.Command(t.Context(), r.Addr, "BGREWRITEAOF"); err != nil {
		t.Fatal(reply, err)
	}
	eventually(t, "its file is written anew", func() bool {
		info, _ := redistest.Command(t.Context(), r.Addr, "INFO", "persistence")
		return strings.Contains(info, "aof_rewrite_in_progress:0") && strings.Contains(info, "aof_rewrite_scheduled:0")
	})
	r.Stop()
	loaded := make(chan error, 1)
	go func() {
		loaded <- r.Restart("--key-load-delay", "500", "--loading-process-events-interval-bytes", "1024")
	}()
	eventually(t, "it reads its file", func() bool {
		reply, _ := redistest.Command(t.Context(), r.Addr, "PING")
		return strings.HasPrefix(reply, "-LOADING")
	})
	var log bytes.Buffer
	s, _ := opened(t, nodeOn(r, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) }))
	_ = s.Close() // no goroutine writes into log from here on
	fatal.If(t, <-loaded)
	if n := strings.Count(log.String(), "Redis is reading its file after a start"); n != 1 {
		t.Errorf("told %d times:\n%s", n, log.String())
	}
}
