package redisstore

import (
	"context"
	"slices"
	"testing"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

var pauseDefault = settings.PauseQueue{Namespace: "default", Name: "default", Paused: true}

func confirmed(t *testing.T, s *Store, e settings.Edit) []string {
	t.Helper()
	left, err := s.awaitNodes(t.Context(), []settings.Edit{e})
	fatal.If(t, err)
	return left
}

// A node may begin what it had claimed until its claims end, even if it has lost
// its shards.
func TestConfirmNamesTheNodesThatCannotReadTheSettings(t *testing.T) {
	quick.Leave(t, "waits for leases")
	t.Parallel()
	addr := redistest.New(t).Addr
	proxy := redistest.NewProxy(t, addr)
	open := func(name, addr string) *Store {
		s, err := Open(t.Context(), Config{Node: name, Shards: 4, Client: rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true}})
		fatal.If(t, err)
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	a, b, c := open("a", addr), open("b", proxy.Addr), open("c", addr)
	edit(t, a, a.now(), pauseDefault)
	if left := confirmed(t, a, pauseDefault); left != nil {
		t.Errorf("all nodes work, and %q have not confirmed", left)
	}
	for _, s := range []*Store{a, b, c} {
		if !s.Standing().Settings.Queue("default", "default").Paused {
			t.Errorf("%s has not read what it confirmed", s.config.Node)
		}
	}
	proxy.Freeze()
	resume := settings.PauseQueue{Namespace: "default", Name: "default"}
	edit(t, a, a.now(), resume)
	if left := confirmed(t, a, resume); !slices.Equal(left, []string{"b"}) {
		t.Errorf("%q have not confirmed, want b alone", left)
	}
	eventually(t, "b has lost its shards", func() bool { return divided(a, c) })
	if left := confirmed(t, a, resume); !slices.Equal(left, []string{"b"}) {
		t.Errorf("b has no shards, and %q have not confirmed, want b", left)
	}
	proxy.Thaw()
	eventually(t, "b confirms", func() bool { return confirmed(t, a, resume) == nil })
}

// The node was stopped while the queue was paused, and continues as if it had
// not been.
func TestANodeWithSettingsFromBeforeAPauseClaimsNothing(t *testing.T) {
	t.Parallel()
	addr := redistest.New(t).Addr
	a, b := openNode(t, "a", addr), openNode(t, "b", addr)
	eventually(t, "both own shards", func() bool { return divided(a, b) })
	b.claimAll(t, soon(t, a, "before", 64, 0))
	stale := b.settings.Load()
	edit(t, a, a.now(), pauseDefault)
	if left := confirmed(t, a, pauseDefault); left != nil {
		t.Fatal(left)
	}
	tasks := soon(t, a, "after", 64, 0)
	b.configuring.Lock()
	b.settings.Store(stale)
	b.configuring.Unlock()
	if b.claimAll(t, tasks); !b.Standing().Settings.Queue("default", "default").Paused {
		t.Error("it has claimed tasks with the settings from before the pause")
	}
}

// claimAll claims those of tasks that lie in the shards of s.
func (s *Store) claimAll(t *testing.T, tasks []*task.Task) {
	t.Helper()
	ours := slices.DeleteFunc(slices.Clone(tasks), func(one *task.Task) bool { return s.member.Shard(s.shard(one.Key())) == nil })
	eventually(t, "tasks are claimed", func() bool {
		replies, err := s.Transit(context.WithoutCancel(t.Context()), s.now(), store.Claims(claimsOf('b', ours)))
		return err == nil && len(replies) > 0 && replies[0].Err == nil
	})
}
