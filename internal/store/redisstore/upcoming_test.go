package redisstore

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// TestANodeListsTheTasksOfAllNodes: upcoming tasks, and tasks that have ended,
// are found in shards of other nodes.
func TestANodeListsTheTasksOfAllNodes(t *testing.T) {
	server := redistest.New(t)
	a, b := openNode(t, "a", server.Addr), openNode(t, "b", server.Addr)
	eventually(t, "they share the shards", func() bool { return divided(a, b) })
	now := task.CeilMillis(time.Now())
	var creates, cancels []task.Change
	for i := range 100 {
		creates = append(creates, task.Create{Spec: upcomingSpec(i, now, 10)})
		if i >= 50 {
			cancels = append(cancels, task.Cancel{Key: creates[i].Target()})
		}
	}
	for _, changes := range [][]task.Change{creates, cancels} {
		if _, err := a.Transit(t.Context(), now, store.Changes(changes)); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []*Store{a, b} {
		page, err := s.Upcoming(t.Context(), store.UpcomingRead{Until: task.Never, Limit: 100})
		if err != nil || len(page.Tasks) != 50 || page.More {
			t.Errorf("%d upcoming tasks, more %v, error %v", len(page.Tasks), page.More, err)
		}
		ended, err := s.List(t.Context(), task.Filter{Namespace: task.DefaultNamespace, States: []task.State{task.Cancelled}}, task.Page{ByEnd: now, Limit: 100})
		if err != nil || len(ended.Tasks) != 50 || ended.Next != "" {
			t.Errorf("%d ended tasks, next %q, error %v", len(ended.Tasks), ended.Next, err)
		}
	}
}

// upcomingSpec returns the spec of the i-th task, in one of some lanes.
func upcomingSpec(i int, now task.Millis, lanes int) task.Spec {
	spec := task.DefaultSpec()
	spec.Name, spec.ID = fmt.Sprintf("t%06d", i), fmt.Sprint(i)
	spec.When, spec.Request.URL = task.When{At: now + 3_600_000 + task.Millis(i*7919%100_000)}, "https://receiver.example/hook"
	spec.Request.Destination = fmt.Sprintf("h%d.example:443", i%lanes)
	return spec
}

// BenchmarkUpcoming: the next 100 of 100,000 tasks, and the 100 that ended last
// of 50,000.
func BenchmarkUpcoming(b *testing.B) {
	for _, lanes := range []int{1, 10_000} {
		server := redistest.New(b)
		s, err := Open(b.Context(), Config{Client: rueidis.ClientOption{InitAddress: []string{server.Addr}, DisableCache: true}})
		if err != nil {
			b.Fatal(err)
		}
		now := task.CeilMillis(time.Now())
		for first := 0; first < 150_000; first += 1000 {
			var creates, cancels []task.Change
			for i := range 1000 {
				creates = append(creates, task.Create{Spec: upcomingSpec(first+i, now, lanes)})
				cancels = append(cancels, task.Cancel{Key: creates[i].Target()})
			}
			if _, err := s.Transit(b.Context(), now, store.Changes(creates)); err != nil {
				b.Fatal(err)
			}
			if first < 100_000 {
				continue
			}
			if _, err := s.Transit(b.Context(), now+task.Millis(first), store.Changes(cancels)); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprintf("lanes=%d", lanes), func(b *testing.B) {
			for b.Loop() {
				page, err := s.Upcoming(b.Context(), store.UpcomingRead{Until: task.Never, Limit: 100})
				if err != nil || len(page.Tasks) != 100 {
					b.Fatal(len(page.Tasks), err)
				}
			}
		})
		b.Run(fmt.Sprintf("ended, lanes=%d", lanes), func(b *testing.B) {
			for b.Loop() {
				ended, err := s.List(b.Context(), task.Filter{Namespace: task.DefaultNamespace, States: []task.State{task.Cancelled}}, task.Page{ByEnd: now, Limit: 100})
				if err != nil || len(ended.Tasks) != 100 {
					b.Fatal(len(ended.Tasks), err)
				}
			}
		})
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// A lane has a part in each shard. Few lanes are read to their ends, however many
// shards there are.
func TestAListFromLateOnReadsAllPartsOfALane(t *testing.T) {
	s, err := Open(t.Context(), Config{Client: rueidis.ClientOption{InitAddress: []string{redistest.New(t).Addr}, DisableCache: true}, Shards: 512, Alone: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	now, changes := s.now(), make([]task.Change, 20_000)
	for i := range changes {
		spec := specOf(fmt.Sprint("t", i), now.Add(time.Hour+time.Duration(i)*time.Second))
		spec.Request.URL = fmt.Sprintf("https://h%d.example/", i%40)
		if err := spec.Validate(now); err != nil { // it sets the destination
			t.Fatal(err)
		}
		changes[i] = task.Create{Spec: spec}
	}
	for some := range slices.Chunk(changes, 1000) {
		if _, err := s.Transit(t.Context(), now, store.Changes(some)); err != nil {
			t.Fatal(err)
		}
	}
	from := now.Add(time.Hour + 18_000*time.Second)
	page, err := s.Upcoming(t.Context(), store.UpcomingRead{From: from, Until: task.Never, Limit: 100})
	if err != nil || len(page.Tasks) != 100 || page.Until <= from {
		t.Errorf("%d tasks until %d after the first, %v", len(page.Tasks), page.Until-from, err)
	}
}
