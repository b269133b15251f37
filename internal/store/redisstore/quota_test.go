package redisstore

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// Each master of a Cluster has its own round of writes. A task that one round
// has just created must count once in the decisions of the other rounds, or
// they skip instants although the quota has room.
func TestAQuotaWithRoomForAllSkipsNoInstantInACluster(t *testing.T) {
	s := openAt(t, redistest.NewCluster(t, 3, 0).Addrs()...)
	defer func() { _ = s.Close() }()
	const schedules = 60
	var fires []task.Fire
	for i := range schedules {
		spec := task.ScheduleSpec{Spec: specOf(fmt.Sprint("s", i), began), Rule: recurrence.Rule{
			Every: time.Second, CatchupWindow: recurrence.DefaultCatchupWindow, CatchupLimit: recurrence.DefaultCatchupLimit,
		}}
		fatal.If(t, spec.Validate(began))
		fatal.If(t, apply(t, s, task.PutSchedule{Spec: spec}))
		fires = append(fires, task.Fire{Key: task.ScheduleKey(spec.Namespace, spec.Name)})
	}
	edit(t, s, began, settings.PutNamespace{Settings: settings.NamespaceSettings{Name: task.DefaultNamespace, MaxPending: 2 * schedules}})
	// A read of the counts during writes is inexact, so they are read while nothing is
	// written: changes since then are exact, if a new part of them begins.
	read := func() {
		time.Sleep(25 * time.Millisecond)
		all, err := s.readCounts(t.Context())
		fatal.If(t, err)
		var sum task.Counts
		for _, c := range all {
			sum.Add(c)
		}
		at := time.Now()
		s.quotas.Sums = func(context.Context) (map[string]task.Counts, time.Duration, bool) {
			return map[string]task.Counts{task.DefaultNamespace: sum}, time.Since(at), true
		}
	}
	read()
	for second := range 150 {
		now := began + task.Millis(1000*(second+1))
		replies, err := s.Transit(t.Context(), now, store.Fires(fires))
		fatal.If(t, err)
		var cancels []task.Change
		for _, r := range replies {
			fatal.If(t, r.Err)
			if r.Spawned != nil {
				cancels = append(cancels, task.Cancel{Key: r.Spawned.Key()})
			}
		}
		if len(cancels) != schedules {
			t.Fatalf("second %d: %d of %d schedules created a task", second, len(cancels), schedules)
		}
		fatal.If(t, transit(t, s, now, store.Changes(cancels)))
		if second%10 == 9 {
			read()
		}
	}
}

// A namespace without quotas leaves half of the servers' free memory to other
// namespaces.
func TestANamespaceWithoutQuotasLeavesHalfOfTheFreeMemory(t *testing.T) {
	t.Parallel()
	fillAs := func(t *testing.T, s *Store, namespace string) error {
		t.Helper()
		for i := range 1000 {
			spec := specOf(fmt.Sprint("fill", i), began)
			spec.Namespace, spec.Request.Body, spec.Request.BodySize = namespace, make([]byte, 64<<10), 64<<10
			if err := transit(t, s, began, store.Changes([]task.Change{task.Create{Spec: spec}})); err != nil {
				return err
			}
			fatal.If(t, s.servers.CheckMasters(t.Context()))
		}
		t.Fatal("the server is never full")
		return nil
	}
	t.Run("next to others", func(t *testing.T) {
		s := openLevel(t, redisconn.Default, redistest.New(t, "--maxmemory", "20mb").Addr)
		edit(t, s, began, settings.PutNamespace{Settings: settings.NamespaceSettings{Name: "victim"}})
		var quota *task.QuotaError
		if err := fillAs(t, s, task.DefaultNamespace); !errors.As(err, &quota) || quota.Quota != task.QuotaBytes {
			t.Fatalf("the namespace that fills the server: %v, want its share as max_bytes", err)
		}
		if free, _ := s.servers.Free(); free < 5<<20 {
			t.Errorf("%d bytes are left to others", free)
		}
		spec := specOf("mine", began)
		spec.Namespace = "victim"
		if err := apply(t, s, task.Create{Spec: spec}); err != nil {
			t.Errorf("a create of its neighbour: %v", err)
		}
	})
	t.Run("alone", func(t *testing.T) {
		s := openLevel(t, redisconn.Default, redistest.New(t, "--maxmemory", "20mb").Addr)
		if err := fillAs(t, s, task.DefaultNamespace); !errors.Is(err, task.ErrFull) {
			t.Errorf("the only namespace: %v, want it to have the whole server", err)
		}
	})
}

func TestQuotasAreCheckedBySumsThatOwnersPublish(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	a, b := openNode(t, "a", server.Addr), openNode(t, "b", server.Addr)
	eventually(t, "both own shards", func() bool { return divided(a, b) })
	edit(t, a, a.now(), settings.PutNamespace{Settings: settings.NamespaceSettings{Name: task.DefaultNamespace, MaxPending: 12}})
	soon(t, b, "t", 10, time.Hour)
	eventually(t, "the sums are published", func() bool {
		all, _, whole := a.member.Sums(t.Context())
		return whole && all[task.DefaultNamespace].States[task.Scheduled] == 10
	})
	a.quotas.CountAll = nil // it must not be called
	for i := range 4 {
		err := apply(t, a, order(fmt.Sprint("more", i)))
		if _, full := errors.AsType[*task.QuotaError](err); full != (i >= 2) || !full && err != nil {
			t.Errorf("task %d: %v", 11+i, err)
		}
	}
}
