package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// storeKeys are the keys of a store without a prefix of its own.
var storeKeys = keyspace.NewKeys(keyspace.DefaultPrefix, 0)

// openNode opens one of the nodes that share the servers at addrs. Its leases
// are short.
func openNode(t *testing.T, name string, addrs ...string) *Store {
	t.Helper()
	return openNodeWith(t, Config{Shared: store.Shared{Node: name}}, addrs...)
}

func openNodeWith(t *testing.T, c Config, addrs ...string) *Store {
	t.Helper()
	c.Client.InitAddress, c.Client.DisableCache, c.Client.DisableRetry = addrs, true, true
	c.Shards, c.ShardLease, c.Heartbeat = 16, cmp.Or(c.ShardLease, 1500*time.Millisecond), cmp.Or(c.Heartbeat, 200*time.Millisecond)
	s, err := Open(t.Context(), c)
	fatal.If(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// messagesAlone returns the configuration of a node whose leases and heartbeats
// are longer than redistest.Patience. So only a message makes it act in time.
func messagesAlone(name string) Config {
	return Config{ShardLease: time.Hour, Heartbeat: 10 * time.Minute, Shared: store.Shared{Node: name}}
}

// beats returns how many heartbeats a server has received, of all nodes
// together. They measure time on a machine that is as busy as it is.
func beats(t *testing.T, server *redistest.Server) int {
	t.Helper()
	n, err := strconv.Atoi(redis(t, server, "HGET", storeKeys.NodesID, "beats"))
	fatal.If(t, err)
	return n
}

// eventually waits until the condition holds, because real servers need time.
func eventually(t *testing.T, what string, so func() bool) time.Duration {
	t.Helper()
	return redistest.Until(t, what, so)
}

// edit applies edits that must succeed.
func edit(t *testing.T, s *Store, now task.Millis, edits ...settings.Edit) {
	t.Helper()
	replies, err := s.Configure(t.Context(), now, edits)
	fatal.If(t, err)
	for _, r := range replies {
		fatal.If(t, r.Err)
	}
}

// transit makes steps, and returns the errors of the call and of all of them.
func transit(t testing.TB, s *Store, now task.Millis, steps []store.Step) error {
	t.Helper()
	replies, err := s.Transit(context.WithoutCancel(t.Context()), now, steps)
	for _, r := range replies {
		err = errors.Join(err, r.Err)
	}
	return err
}

// apply makes changes by the clock.
func apply(t *testing.T, s *Store, changes ...task.Change) error {
	t.Helper()
	return transit(t, s, task.CeilMillis(time.Now()), store.Changes(changes))
}

// attempt claims a task and settles the attempt.
func attempt(t *testing.T, s *Store, name string, v task.Verdict) error {
	t.Helper()
	one, err := s.Get(t.Context(), tasktest.Key(name))
	fatal.If(t, err)
	now := task.FloorMillis(time.Now())
	return errors.Join(
		transit(t, s, now, store.Claims([]task.Claim{tasktest.Claim(one, "of an attempt", now+10_000)})),
		transit(t, s, now, store.Settlements([]task.Settlement{{Key: one.Key(), Token: "of an attempt", Outcome: task.Outcome{Verdict: v}}})))
}

// divided reports whether nodes own all shards together, and each node owns
// some.
func divided(nodes ...*Store) bool {
	owners := map[int]int{}
	for _, s := range nodes {
		owned := s.member.Shards()
		for _, h := range owned {
			owners[h.Number]++
		}
		if len(owned) == 0 {
			return false
		}
	}
	for _, n := range owners {
		if n != 1 {
			return false
		}
	}
	return len(owners) == len(nodes[0].shards)
}

// soon creates tasks that are due after wait, and returns them.
func soon(t *testing.T, s *Store, prefix string, n int, wait time.Duration) []*task.Task {
	t.Helper()
	now := task.CeilMillis(time.Now())
	replies, err := s.Transit(context.WithoutCancel(t.Context()), now, store.Changes(tasktest.Creates(prefix, n, now.Add(wait), nil)))
	fatal.If(t, err)
	tasks := make([]*task.Task, n)
	for i, r := range replies {
		fatal.If(t, r.Err)
		tasks[i] = r.Task
	}
	return tasks
}

// claimsOf returns claims of tasks by a node.
func claimsOf(node byte, tasks []*task.Task) []task.Claim {
	claims := make([]task.Claim, len(tasks))
	for i, one := range tasks {
		claims[i] = tasktest.Claim(one, task.Token(fmt.Sprint(string(node), one.Name)), task.FloorMillis(time.Now()).Add(15*time.Second))
	}
	return claims
}

// hints collects the entries that a node's watcher is called with.
type hints struct {
	mu sync.Mutex
	at map[string]time.Time
}

func watch(s *Store) *hints {
	w := &hints{at: map[string]time.Time{}}
	s.Watch(store.Watcher{Tasks: func(entries []task.Entry) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, e := range entries {
			if _, ok := w.at[e.Name]; !ok {
				w.at[e.Name] = time.Now()
			}
		}
	}})
	return w
}

func (w *hints) all() map[string]time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make(map[string]time.Time, len(w.at))
	for name, at := range w.at {
		all[name] = at
	}
	return all
}

// await waits until the watcher of s was called with those of tasks that lie in
// the shards of s.
func (w *hints) await(t *testing.T, s *Store, tasks []*task.Task) time.Duration {
	t.Helper()
	return eventually(t, "its watcher is called with its tasks", func() bool {
		all := w.all()
		for _, one := range tasks {
			if _, ok := all[one.Name]; !ok && s.member.Shard(s.shard(one.Key())) != nil {
				return false
			}
		}
		return true
	})
}

// lockedBuffer is a log that may be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lockedBuffer) count(line string) int { return strings.Count(l.String(), line) }

// errOf returns the error of a call whose result does not matter.
func errOf[T any](_ T, err error) error { return err }
