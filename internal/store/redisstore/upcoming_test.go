package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// TestANodeListsTheTasksOfAllNodes: upcoming tasks, and tasks that have ended,
// are found in shards of other nodes.
func TestANodeListsTheTasksOfAllNodes(t *testing.T) {
	server := redistest.New(t)
	a, b := openNode(t, "a", server.Addr), openNode(t, "b", server.Addr)
	eventually(t, "they share the shards", func() bool { return divided(a, b) })
	now := task.CeilMillis(time.Now())
	creates := tasktest.Creates("t", 100, now.Add(time.Hour), func(i int, s *task.Spec) {
		s.When.At += task.Millis(i * 7919 % 100_000)
		s.Request.URL = fmt.Sprintf("https://h%d.example/", i%10)
	})
	for _, changes := range [][]task.Change{creates, tasktest.Cancels(creates[50:])} {
		fatal.If(t, errOf(a.Transit(t.Context(), now, store.Changes(changes))))
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
