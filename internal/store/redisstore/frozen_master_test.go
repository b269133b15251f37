package redisstore

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// A master is stopped until it has a successor. Then it replies to the calls
// that wait, and to new ones until it learns of the successor.
func TestRepliesOfAReplacedMasterConfirmNothing(t *testing.T) {
	long(t)
	t.Run("Sentinel", func(t *testing.T) {
		t.Parallel()
		servers := redistest.NewSentinels(t)
		c := Config{Client: rueidis.ClientOption{Sentinel: rueidis.SentinelOption{MasterSet: redistest.MasterName}}}
		testFrozenMaster(t, c, servers.Servers[0], func() bool { return servers.Master(t.Context()) > 0 },
			servers.Sentinels[0].Addr, servers.Sentinels[1].Addr, servers.Sentinels[2].Addr)
	})
	t.Run("Cluster", func(t *testing.T) {
		t.Parallel()
		servers := redistest.NewCluster(t, 3, 1)
		promoted := func() bool {
			masters := 0
			for place := 1; place < 6; place++ {
				if master, _ := servers.Role(t.Context(), place); master {
					masters++
				}
			}
			return masters == 3
		}
		testFrozenMaster(t, Config{}, servers.Servers[0], promoted, servers.Addrs()...)
	})
}

// testFrozenMaster creates tasks during a failover. A task that was answered just before
// it may be missing, because no reply waits for a replica. No later one may be missing, so
// if no task is missing, the node must not report that the store lost data.
func testFrozenMaster(t *testing.T, c Config, master *redistest.Server, promoted func() bool, addrs ...string) {
	log := &lockedBuffer{}
	c.Durability, c.CallersClock, c.Logger = redisconn.Async, true, slog.New(slog.NewTextHandler(log, nil))
	s := openNodeWith(t, c, addrs...)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var load sync.WaitGroup
	var answered, early [4][]string // by goroutine
	var paused, resumes atomic.Bool
	var count atomic.Int64
	for w := range answered {
		load.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				name, during := fmt.Sprintf("w%d-%d", w, i), paused.Load()
				if transit(t, s, began, store.Changes([]task.Change{task.Create{Spec: specOf(name, began)}})) == nil {
					if during || resumes.Load() {
						answered[w] = append(answered[w], name)
					} else {
						early[w] = append(early[w], name)
					}
					count.Add(1)
				}
			}
		})
	}
	more := func() {
		t.Helper()
		goal := count.Load() + 200
		eventually(t, "creates are answered", func() bool { return count.Load() >= goal })
	}
	more()
	master.Pause()
	paused.Store(true)
	eventually(t, "there is a successor", promoted)
	resumes.Store(true)
	master.Resume()
	more()
	stop()
	load.Wait()
	for _, name := range slices.Concat(answered[:]...) {
		if _, err := s.Get(t.Context(), tasktest.Key(name)); err != nil {
			t.Errorf("%s was answered: %v", name, err)
		}
	}
	checkInvariants(t, s)
	lost := slices.ContainsFunc(slices.Concat(early[:]...), func(name string) bool {
		_, err := s.Get(t.Context(), tasktest.Key(name))
		return err != nil
	})
	if n := s.Standing().Rollbacks; n != 0 && !lost {
		t.Errorf("%d false alarms:\n%s", n, log.String())
	}
}
