package membership

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestAChangeOfOwnershipIsLoggedOnce(t *testing.T) {
	var log strings.Builder
	logger, now := slog.New(slog.NewTextHandler(&log, nil)), time.Now()
	o := &Member{mine: []bool{true, true}, states: []claimState{{held: true}, {held: true}}, log: ownershipLog{logged: 2}}
	o.config.Logger = logger
	o.owned = make([]atomic.Pointer[Owned], 2)
	for i := range o.owned {
		h := &Owned{Shard: i, lost: func() {}}
		h.until.Store(new(instant)) // in the past
		o.owned[i].Store(h)
	}
	o.disownExpired(now)
	if strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), "lost shards") {
		t.Fatal(log.String())
	}
	for range 100 {
		now = now.Add(time.Second)
		o.log.write(logger, now, o)
	}
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("%d lines about the same:\n%s", n, log.String())
	}
	for i := range o.states {
		o.states[i].held = true
		now = now.Add(logEvery)
		o.log.write(logger, now, o)
		now = now.Add(logEvery)
		o.log.write(logger, now, o)
	}
	if strings.Count(log.String(), "\n") != 3 {
		t.Error(log.String())
	}
}
