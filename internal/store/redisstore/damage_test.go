package redisstore

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// damage makes the record of k unreadable for every version.
func damage(t *testing.T, s *Store, addr string, k task.Key) {
	t.Helper()
	if reply, err := redistest.Command(t.Context(), addr, "HSET", s.shard(k).Records, keyspace.Field(k), "a stamp \x01\xff"); reply != ":0" {
		t.Fatal(reply, err)
	}
}

// TestAnUnreadableTaskDelaysNoOther task that is claimed, settled or
// reaped in the same call.
func TestAnUnreadableTaskDelaysNoOther(t *testing.T) {
	server := redistest.New(t)
	s := emptied(server.Addr)(t).(*Store)
	defer func() { _ = s.Close() }()
	var changes []task.Change
	for _, name := range []string{"bad", "bad-begun", "good", "good-begun"} {
		changes = append(changes, task.Create{Spec: specOf(name, began)})
	}
	made, err := s.Transit(t.Context(), began, store.Changes(changes))
	fatal.If(t, err)
	claimed := func(which ...int) (claims []task.Claim) {
		for _, i := range which {
			claims = append(claims, tasktest.Claim(made[i].Task, "1", began+15_000))
		}
		return claims
	}
	fatal.If(t, errOf(s.Transit(t.Context(), began, store.Claims(claimed(1, 3)))))
	damage(t, s, server.Addr, tasktest.Key("bad"))
	damage(t, s, server.Addr, tasktest.Key("bad-begun"))

	replies, err := s.Transit(t.Context(), began, store.Claims(claimed(0, 2)))
	if err != nil || !errors.Is(replies[0].Err, codec.ErrDamaged) || replies[1].Err != nil {
		t.Errorf("claims: %+v, error %v", replies, err)
	}
	done := task.Outcome{Verdict: task.Success}
	replies, err = s.Transit(t.Context(), began+100, store.Settlements([]task.Settlement{{Key: tasktest.Key("bad-begun"), Token: "1", Outcome: done}, {Key: tasktest.Key("good-begun"), Token: "1", Outcome: done}}))
	if err != nil || !errors.Is(replies[0].Err, codec.ErrDamaged) || replies[1].Err != nil {
		t.Errorf("settlements: %+v, error %v", replies, err)
	}
	if n, err := s.Reap(t.Context(), began+20_000, 10); n != 1 || err != nil {
		t.Errorf("%d reaped, error %v", n, err)
	}
}

// TestAnUnreadableScheduleDelaysNoOther schedule that is fired in the
// same call.
func TestAnUnreadableScheduleDelaysNoOther(t *testing.T) {
	server := redistest.New(t)
	s := emptied(server.Addr)(t).(*Store)
	defer func() { _ = s.Close() }()
	fatal.If(t, errOf(s.Transit(t.Context(), began, store.Changes([]task.Change{eachSecond(t, "good"), eachSecond(t, "bad")}))))
	k := task.ScheduleKey(task.DefaultNamespace, "bad")
	damage(t, s, server.Addr, k)
	replies, err := s.Transit(t.Context(), began+1000, store.Fires(fires("bad", "good")))
	if err != nil || !errors.Is(replies[0].Err, codec.ErrDamaged) || replies[1].Err != nil || replies[1].Spawned == nil {
		t.Errorf("%+v, error %v", replies, err)
	}
	if _, err := s.Get(t.Context(), k); !errors.Is(err, codec.ErrDamaged) {
		t.Errorf("it is read: %v", err)
	}
}

// TestAReapedTaskIsReportedAndOneThatCannotBeReapedIsLoggedOnce: no settlement
// reports the first one, and the node that sent the second one may be gone.
func TestAReapedTaskIsReportedAndOneThatCannotBeReapedIsLoggedOnce(t *testing.T) {
	r := redistest.New(t)
	var log bytes.Buffer
	var left []*task.Task
	s, _ := opened(t, nodeOn(r, func(c *Config) {
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c.OnReap = func(tasks []*task.Task) { left = append(left, tasks...) }
		c.Alone, c.CallersClock = true, true
	}))
	made, err := s.Transit(t.Context(), began, store.Changes([]task.Change{task.Create{Spec: specOf("bad", began)}, task.Create{Spec: specOf("good", began)}}))
	fatal.If(t, err)
	fatal.If(t, errOf(s.Transit(t.Context(), began, store.Claims([]task.Claim{tasktest.Claim(made[0].Task, "1", began+15_000), tasktest.Claim(made[1].Task, "1", began+15_000)}))))
	damage(t, s, r.Addr, tasktest.Key("bad"))
	for i := range 3 {
		if n, err := s.Reap(t.Context(), began+20_000, 10); (n == 1) != (i == 0) || err != nil {
			t.Errorf("%d reaped, error %v", n, err)
		}
	}
	_ = s.Close() // no goroutine writes into log from here on
	if got := log.String(); strings.Count(got, "take back a task") != 1 || !strings.Contains(got, "task=bad") {
		t.Errorf("logged is %s", got)
	}
	if len(left) != 1 || left[0].Name != "good" || left[0].State != task.Scheduled || left[0].Reclaims != 1 {
		t.Errorf("reported are %+v", left)
	}
}
