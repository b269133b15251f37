package redisstore

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// A call whose reply was lost is repeated until its server is back. By then its
// clock may be too old to compute a lease.
func TestACallRepeatedForLongReturnsItsRealOutcome(t *testing.T) {
	s := openAt(t, redistest.New(t).Addr)
	defer func() { _ = s.Close() }()
	now := task.CeilMillis(time.Now())
	created, err := task.Create{Spec: specOf("a", now+60_000)}.Apply(now, nil, task.Facts{})
	fatal.If(t, err)
	first, _ := records.Replacement(s.shard(tasktest.Key("a")), records.Record{}, created.Task)
	second := first
	second.Field = "default/b"
	for _, c := range []struct {
		what string
		item redisconn.Item
		age  task.Millis
		want redisconn.Status
	}{
		{"at once", first, 0, redisconn.Applied},
		{"ten seconds later", first, 10_000, redisconn.AlreadyApplied},
		{"ten seconds later, for the first time", second, 10_000, redisconn.ClockSkew},
	} {
		at := redisconn.Clock{Now: now - c.age, Behind: 2000, Ahead: 1000}
		outcomes, _, err := s.servers.Put(t.Context(), redisconn.Terms{Clock: at}, []redisconn.Item{c.item})
		if err != nil || outcomes[0].Status != c.want {
			t.Errorf("%s: %v, %v; want the status %d", c.what, outcomes, err, c.want)
		}
	}
}

// The client closes the connections to a master that was replaced. The error is
// the same as when the client itself is closed.
func TestAReplacedConnectionIsNotReportedAsAClosedStore(t *testing.T) {
	err := new(Store).failure(fmt.Errorf("%w: the connection broke: %w", task.ErrUnavailable, rueidis.ErrClosing))
	if !errors.Is(err, task.ErrUnavailable) || errors.Is(err, task.ErrClosed) {
		t.Error(err)
	}
}

func TestAMasterThatMissesItsReplicasIsUnavailable(t *testing.T) {
	long(t)
	server := redistest.New(t)
	s := openAt(t, server.Addr)
	defer func() { _ = s.Close() }()
	if reply, err := redistest.Command(t.Context(), server.Addr, "CONFIG", "SET", "min-replicas-to-write", "1"); reply != "+OK" {
		t.Fatal(reply, err)
	}
	_, err := s.Transit(t.Context(), began, store.Changes([]task.Change{task.Create{Spec: specOf("a", began)}}))
	if !errors.Is(err, task.ErrUnavailable) {
		t.Error(err)
	}
}
