package redischeck

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/wire"
)

func TestFindingsAboutMasters(t *testing.T) {
	fine := redisstore.Examined{Addr: "a:1", Policy: "noeviction", File: true, Sync: "always", Used: 10, Limit: 100}
	with := func(edit func(*redisstore.Examined)) redisstore.Examined { e := fine; edit(&e); return e }
	replica := redisstore.Replica{Addr: "b:2", State: "online", Fit: true}
	for _, c := range []struct {
		master redisstore.Examined
		level  redisstore.Durability
		bad    string // a part of the one bad finding; "": none
	}{
		{fine, redisstore.Default, ""},
		{with(func(e *redisstore.Examined) { e.Failed = errors.New("no route") }), redisstore.Default, "no route"},
		{with(func(e *redisstore.Examined) { e.Unfit = []error{redisstore.ErrUnfit} }), redisstore.Default, "not fit"},
		{with(func(e *redisstore.Examined) { e.Used = 86 }), redisstore.Default, "85 %"},
		{with(func(e *redisstore.Examined) { e.Replicas = []redisstore.Replica{replica} }), redisstore.Default, ""},
		{with(func(e *redisstore.Examined) { e.Replicas = []redisstore.Replica{replica} }), redisstore.Strict, "min-replicas-to-write 1"},
		{with(func(e *redisstore.Examined) { e.Replicas, e.MinReplicas = []redisstore.Replica{replica}, 1 }), redisstore.Strict, ""},
		{with(func(e *redisstore.Examined) { e.MinReplicas, e.Refused = 2, errors.New("NOREPLICAS") }), redisstore.Strict, "NOREPLICAS"},
		{with(func(e *redisstore.Examined) { e.Replicas = []redisstore.Replica{{Addr: "b:2", State: "wait_bgsave"}} }), redisstore.Default, "wait_bgsave"},
		{with(func(e *redisstore.Examined) { e.Ahead, e.Unsure = -time.Second, time.Millisecond }), redisstore.Default, "1s behind"},
		{with(func(e *redisstore.Examined) { e.Ahead, e.Unsure = 99*time.Millisecond, time.Millisecond }), redisstore.Default, ""},
	} {
		r := report{clock: "this machine's clock"}
		r.master(&c.master, c.level)
		r.clocks([]redisstore.Examined{c.master})
		bad := badOf(r.list)
		if c.bad == "" && len(bad) > 0 || c.bad != "" && (len(bad) != 1 || !strings.Contains(bad[0], c.bad)) {
			t.Errorf("want %q bad, got:\n%v", c.bad, r.list)
		}
	}
	r := report{clock: "this machine's clock"}
	r.clocks([]redisstore.Examined{with(func(e *redisstore.Examined) { e.Ahead = 90 * time.Millisecond }), with(func(e *redisstore.Examined) { e.Ahead = -90 * time.Millisecond })})
	if bad := badOf(r.list); len(bad) != 1 || !strings.Contains(bad[0], "180ms apart") {
		t.Error(r.list)
	}
}

// badOf returns the bad findings as text.
func badOf(list []wire.Finding) (bad []string) {
	for _, f := range list {
		if !f.OK {
			bad = append(bad, f.Says)
		}
	}
	return bad
}
