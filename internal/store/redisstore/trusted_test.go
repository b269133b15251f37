package redisstore

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// The clock of a real server steps ahead while attempts are under way on two
// nodes. A third node starts after the step.
func TestLeasesSurviveAClockStepOfTheServer(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{20 * time.Second, 48 * time.Hour} {
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			clock := redistest.NewClock(t)
			server := clock.New()
			nodes := []*Store{openNode(t, "a", server.Addr), openNode(t, "b", server.Addr)}
			eventually(t, "both own shards", func() bool { return divided(nodes...) })
			tasks := soon(t, nodes[0], "t", 32, 0)
			expires := tasks[0]
			expiry := 10 * time.Second
			ended := soon(t, nodes[0], "ended", 1, time.Hour)[0]
			fatal.If(t, apply(t, nodes[0], task.Patch{Key: expires.Key(), ExpireAfter: &expiry}, task.Cancel{Key: ended.Key()}))

			holder := make([]*Store, len(tasks))
			for i, one := range tasks[1:] {
				eventually(t, "it is claimed", func() bool {
					for n, s := range nodes {
						if claimed(t, s, claimsOf(byte('a'+n), []*task.Task{one})[0]) == nil {
							holder[i+1] = s
							return true
						}
					}
					return false
				})
			}
			clock.Set(step)
			for _, s := range nodes {
				eventually(t, "the step is noticed", func() bool { return time.Until(s.Now()) > step/2 && s.Lag() > step/2 })
			}
			fresh := openNode(t, "fresh", server.Addr)
			nodes = append(nodes, fresh)
			eventually(t, "all three own shards", func() bool { return divided(nodes...) })
			eventually(t, "the new node knows of the step", func() bool { return time.Until(fresh.Trusted()) < step/2 })

			for _, s := range nodes {
				by := task.FloorMillis(s.Trusted())
				if n, err := s.Reap(t.Context(), by, 100); n != 0 || err != nil {
					t.Errorf("node %s took back %d leases, error %v", s.member.Process, n, err)
				}
				if n, err := s.Sweep(t.Context(), by, 100); n != 0 || err != nil {
					t.Errorf("node %s removed %d records, error %v", s.member.Process, n, err)
				}
			}
			eventually(t, "the task that has not expired is claimed", func() bool {
				for n, s := range nodes {
					c := claimsOf(byte('a'+n), []*task.Task{expires})[0]
					c.Trusted = task.FloorMillis(s.Trusted())
					err := claimed(t, s, c)
					if errors.Is(err, task.ErrExpired) {
						t.Fatal("it has expired")
					}
					if err == nil {
						holder[0] = s
						return true
					}
				}
				return false
			})
			for i, one := range tasks[1:] {
				s := holder[i+1]
				token := claimsOf('a', []*task.Task{one})[0].Token
				if s == nodes[1] {
					token = claimsOf('b', []*task.Task{one})[0].Token
				}
				now := s.now()
				err := transit(t, s, now, store.Extensions([]task.Extension{{Key: one.Key(), Token: token, Until: now.Add(15 * time.Second)}}))
				if err = errors.Join(err, transit(t, s, s.now(), store.Settlements([]task.Settlement{{Key: one.Key(), Token: token, Outcome: task.Outcome{Verdict: task.Success}}}))); err != nil {
					t.Errorf("extend and settle %s: %v", one.Name, err)
				}
			}
		})
	}
}

// A node that starts right after the step learns it from the first heartbeats
// that it reads.
func TestAClockStepIsSentInAHeartbeatAtOnce(t *testing.T) {
	t.Parallel()
	clock := redistest.NewClock(t)
	server := clock.New()
	c := Config{Client: rueidis.ClientOption{InitAddress: []string{server.Addr}, DisableCache: true, DisableRetry: true}, Shared: store.Shared{Node: "a"}}
	c.Shards, c.ShardLease, c.Heartbeat = 16, 5*time.Minute, time.Minute
	s, err := Open(t.Context(), c)
	fatal.If(t, err)
	t.Cleanup(func() { _ = s.Close() })
	clock.Set(24 * time.Hour)
	eventually(t, "the step is noticed", func() bool { return s.Lag() > 0 })
	eventually(t, "the step is in the heartbeat", func() bool {
		beat := strings.Split(redis(t, server, "HGET", storeKeys.Nodes, "a"), "/")
		return len(beat) > 4 && beat[4] != "0"
	})
}

// claimed claims one task.
func claimed(t *testing.T, s *Store, c task.Claim) error {
	t.Helper()
	now := s.now()
	c.Until = now.Add(15 * time.Second)
	return transit(t, s, now, store.Claims([]task.Claim{c}))
}
