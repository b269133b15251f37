package redisstore

import (
	"fmt"
	"testing"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/task"
)

// Another node has not read the settings with the purge yet when it creates tasks, and its clock is behind.
func TestAPurgeEndsAtItsReplyForTasksOfAnotherNode(t *testing.T) {
	t.Parallel()
	for name, addrs := range map[string][]string{"one server": {redistest.New(t).Addr}, "a cluster": redistest.NewCluster(t, 3, 0).Addrs()} {
		t.Run(name, func(t *testing.T) {
			a, b := openNode(t, "a", addrs...), openNode(t, "b", addrs...)
			stale := b.settings.Load()
			now := a.now()
			purge := func(id string) task.Filter {
				replies, err := a.Configure(t.Context(), now, []task.Edit{task.PurgeQueue{Namespace: "default", Name: "default", ID: id}})
				if err != nil || replies[0].Err != nil {
					t.Fatal(err, replies)
				}
				return a.Settings().Queue("default", "default").Doomed()
			}
			create := func(s *Store, prefix string) {
				changes := make([]task.Change, 64)
				for i := range changes {
					spec := task.DefaultSpec()
					spec.Key, spec.ID = task.Key{Namespace: "default", Name: fmt.Sprint(prefix, i)}, fmt.Sprint("id", prefix, i)
					spec.Request.URL, spec.When = "https://receiver.example/", task.When{At: now + 3_600_000}
					changes[i] = task.Create{Spec: spec}
				}
				replies, err := s.Apply(t.Context(), now-500, changes)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range replies {
					if r.Err != nil {
						t.Fatal(r.Err)
					}
				}
			}
			doomed := func(f task.Filter) map[string]int {
				found := map[string]int{}
				l, err := a.List(t.Context(), f, task.Page{Limit: 1000})
				if err != nil || l.Next != "" {
					t.Fatal(l.Next, err)
				}
				for _, one := range l.Tasks {
					found[one.Name[:1]]++
				}
				return found
			}
			create(b, "b")
			for round, id := range []string{"first", "second"} {
				f := purge(id)
				b.settings.Store(stale)
				create(b, fmt.Sprint("c", round))
				create(a, fmt.Sprint("d", round))
				if got := doomed(f); got["b"] != 64 || got["c"] != 64*round || got["d"] != 64*round {
					t.Errorf("the %s purge cancels %v, want 64 b and %d of c and of d each", id, got, 64*round)
				}
			}
		})
	}
}

// The rounds that a fence refused at one moment need the settings once, not once each.
func TestTheSettingsAreReadOnceForAFence(t *testing.T) {
	t.Parallel()
	addr := redistest.New(t).Addr
	a, b := openNode(t, "a", addr), openNode(t, "b", addr)
	purge := func(id string) {
		replies, err := a.Configure(t.Context(), a.now(), []task.Edit{task.PurgeQueue{Namespace: "default", Name: "default", ID: id}})
		if err != nil || replies[0].Err != nil {
			t.Fatal(err, replies)
		}
	}
	stale := b.settings.Load()
	reads := func() bool {
		b.settings.Store(stale)
		if err := b.passFences(t.Context(), []outcome{{fate: outdated}}, []item{{shard: b.shards[0]}}); err != nil {
			t.Fatal(err)
		}
		return b.settings.Load() != stale
	}
	for _, id := range []string{"first", "second"} {
		if purge(id); !reads() {
			t.Errorf("after the %s purge a refused round does not read the settings", id)
		}
		if reads() {
			t.Errorf("after the %s purge each refused round reads the settings", id)
		}
	}
}
