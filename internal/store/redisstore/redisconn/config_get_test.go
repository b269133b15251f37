package redisconn

import (
	"errors"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/task"
)

// The user may not run CONFIG GET for a moment. This stands for all causes of a
// failure.
func TestOneFailedConfigGetRefusesNoTasks(t *testing.T) {
	t.Parallel()
	r := redistest.New(t, "--appendfsync", "always")
	s := connected(t, Config{Durability: Strict}, r.Addr)
	shard := keyspace.NewKeys(keyspace.DefaultPrefix, 0).Shards(1)[0]
	redis(t, r, "ACL", "SETUSER", "default", "-config|get")
	redistest.Until(t, "CONFIG GET fails", func() bool {
		fatal.If(t, s.CheckMasters(t.Context()))
		return s.Masters.Load().how[r.Addr].unread
	})
	if err := s.Room(shard); err != nil || s.Unfit.Load() != nil {
		t.Errorf("after one failed CONFIG GET: a create: %v, the servers: %v", err, s.Unfit.Load())
	}
	redistest.Until(t, "it takes no tasks when CONFIG GET fails on and on", func() bool { return s.Unfit.Load() != nil })
	if err := s.Room(shard); !errors.Is(err, task.ErrStoreUnfit) {
		t.Errorf("a create: %v", err)
	}
	redis(t, r, "ACL", "SETUSER", "default", "+config|get")
	redistest.Until(t, "it is ready again", func() bool { return s.Unfit.Load() == nil })
}

func TestSettingsAreReadAgainAfterAReconnect(t *testing.T) {
	t.Parallel()
	r := redistest.New(t, "--appendfsync", "always")
	proxy := redistest.NewProxy(t, r.Addr)
	s := connected(t, Config{Durability: Strict}, proxy.Addr)
	proxy.Refuse(true)
	proxy.Cut()
	look := func() error { return s.CheckMasters(t.Context()) }
	redistest.Until(t, "it knows that Redis is away", func() bool { return look() != nil })
	redis(t, r, "ACL", "SETUSER", "default", "-config|get")
	proxy.Refuse(false)
	var first condition
	redistest.Until(t, "CONFIG GET fails", func() bool {
		_ = look()
		first = s.Masters.Load().how[proxy.Addr]
		return first.unread
	})
	if len(first.unfit) == 0 {
		t.Errorf("after a reconnect it takes tasks by settings that it read before: %+v", first)
	}
}

// Settings that cannot be read stay valid for a bounded time, and only while
// the server is the same process and answers.
func TestUnreadableSettingsStayInForceForABoundedTime(t *testing.T) {
	const start = 10 * time.Second
	info := func(run string) map[string]string {
		return map[string]string{"run_id": run, "redis_version": "7.0.15", "maxmemory": "1", "aof_enabled": "1"}
	}
	settings := func(fsync string) map[string]string {
		return map[string]string{"appendfsync": fsync, "min-replicas-to-write": "1"}
	}
	type look struct {
		at     time.Duration
		run    string // "": no answer
		config map[string]string
	}
	always, every, none := settings("always"), settings("everysec"), settings("no")
	for name, c := range map[string]struct {
		level Durability
		looks []look
		unfit bool
	}{
		"one failure":                         {Strict, []look{{0, "a", always}, {CheckEvery, "a", nil}}, false},
		"two failures":                        {Strict, []look{{0, "a", always}, {CheckEvery, "a", nil}, {2 * CheckEvery, "a", nil}}, true},
		"one failure, and what failed before": {Strict, []look{{0, "a", always}, {CheckEvery, "a", nil}, {2 * CheckEvery, "a", always}, {3 * CheckEvery, "a", nil}}, false},
		"many failures in a moment":           {Strict, []look{{0, "a", always}, {1, "a", nil}, {2, "a", nil}, {3, "a", nil}}, false},
		"a reconnect":                         {Strict, []look{{0, "a", always}, {1, "", nil}, {2, "a", nil}}, true},
		"a reconnect, and a second failure":   {Strict, []look{{0, "a", always}, {1, "", nil}, {2, "a", nil}, {3, "a", nil}}, true},
		"a reconnect that reads them":         {Strict, []look{{0, "a", always}, {1, "", nil}, {2, "a", always}}, false},
		"no answer":                           {Strict, []look{{0, "a", always}, {time.Hour, "", nil}}, false}, // nothing can be created there
		"a restart":                           {Strict, []look{{0, "a", always}, {1, "b", nil}}, true},
		"a restart, and a second failure":     {Strict, []look{{0, "a", always}, {1, "b", nil}, {2, "b", nil}}, true},
		"never read":                          {Strict, []look{{0, "a", nil}, {1, "a", nil}}, true},
		"unfit before":                        {Strict, []look{{0, "a", every}, {1, "a", nil}}, true},
		"unfit before, at a lower level":      {Default, []look{{0, "a", none}, {time.Hour, "a", nil}}, true},
		"never read, at a lower level":        {Default, []look{{0, "a", nil}}, false},
		"failures at a lower level":           {Default, []look{{0, "a", every}, {time.Hour, "a", nil}}, false},
	} {
		var how condition
		for _, l := range c.looks {
			if l.run == "" {
				how.silent = true
				continue
			}
			next := conditionOf("r:1", info(l.run), l.config)
			next.asked = start + l.at
			how = next.after(how)
		}
		if unfit := (Config{Durability: c.level}).refusals(how.facts); len(unfit) > 0 != c.unfit {
			t.Errorf("%s: refused for %v", name, unfit)
		}
	}
}
