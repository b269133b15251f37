package original

import (
	"errors"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/task"
)

// Each fault has two tests: one shows that the original fails, the other that
// Foliot's store does not. docs/redis-original-design.md lists them.

func TestTheOriginalLosesWhatADeadNodeHadTaken(t *testing.T) {
	addr := redistest.New(t).Addr
	dead, _ := wheel(t, addr)
	add(t, dead, "a", instant)
	if tasks, err := dead.Pop(t.Context(), instant); err != nil || len(tasks) != 1 {
		t.Fatal(tasks, err)
	}
	// The node is killed here, before it has called. Another node scans this
	// second, and all seconds of the next three minutes.
	other, got := wheel(t, addr)
	runs(t, other, instant, instant.Add(3*time.Minute))
	if got.list() != "" {
		t.Errorf("the original called %s: it did not lose the tasks of the dead node", got.list())
	}
	if size := command(t, addr, "DBSIZE"); size != ":0" {
		t.Errorf("Redis has %s keys: what is lost is somewhere", size)
	}
}

func TestWhatADeadNodeHadTakenIsTakenAgain(t *testing.T) {
	addr := redistest.New(t).Addr
	dead := openStore(t, addr)
	create(t, dead, spec("a", instant))
	if r := claim(t, dead, instant, "a", "dead"); r.Err != nil {
		t.Fatal(r.Err)
	}
	// The node is killed here. Its lease lasts 15 seconds.
	other := openStore(t, addr)
	later := instant.Add(15 * time.Second)
	if n, err := other.Reap(t.Context(), task.FloorMillis(later), 10); n != 1 || err != nil {
		t.Fatalf("%d leases were taken back, %v", n, err)
	}
	if got := dispatches(t, other, later, "a"); got != "a" {
		t.Errorf("%s were delivered", got)
	}
}

func TestTheOriginalNeverCallsWhatIsDueInASkippedSecond(t *testing.T) {
	addr := redistest.New(t).Addr
	w, got := wheel(t, addr)
	for i, key := range []string{"a", "b", "c", "d", "e"} {
		add(t, w, key, instant.Add(time.Duration(i)*time.Second))
	}
	runs(t, w, instant, instant)
	// The process is paused for four seconds: a time.Ticker drops ticks that
	// are not received.
	runs(t, w, instant.Add(4*time.Second), instant.Add(3*time.Minute))
	if got.list() != "a e" {
		t.Errorf("the original called %s: it found tasks of the seconds that it skipped", got.list())
	}
}

func TestWhatCameDueWhileNobodyLookedIsDelivered(t *testing.T) {
	s := openStore(t, redistest.New(t).Addr)
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		create(t, s, spec(name, instant.Add(time.Duration(i)*time.Second)))
	}
	if got := dispatches(t, s, instant, "a"); got != "a" {
		t.Fatalf("%s were delivered", got)
	}
	if got := dispatches(t, s, instant.Add(4*time.Second), "e"); got != "b c d e" {
		t.Errorf("after a pause of four seconds %s were delivered", got)
	}
}

func TestTheOriginalCallsWhatWasCancelledTwoMinutesBefore(t *testing.T) {
	addr := redistest.New(t).Addr
	w, got := wheel(t, addr)
	add(t, w, "a", instant)
	if err := w.Cancel(t.Context(), "a", instant); err != nil {
		t.Fatal(err)
	}
	mark := keys(instant)[1]
	if ttl := command(t, addr, "TTL", mark); ttl != ":120" && ttl != ":119" {
		t.Errorf("the mark stays for %s seconds", ttl)
	}
	command(t, addr, "EXPIREAT", mark, "1") // two minutes pass, and the task is not due yet
	runs(t, w, instant, instant)
	if got.list() != "a" {
		t.Error("the original remembers a cancel for longer than two minutes")
	}
}

func TestWhatWasCancelledIsNotCalledHoweverMuchLater(t *testing.T) {
	s := openStore(t, redistest.New(t).Addr)
	create(t, s, spec("cancelled", instant), spec("kept", instant))
	apply(t, s, instant.Add(-time.Hour), task.Cancel{Key: spec("cancelled", instant).Key})
	if got := dispatches(t, s, instant, "kept"); got != "kept" {
		t.Errorf("%s were delivered", got)
	}
	var state *task.StateError
	if r := claim(t, s, instant.Add(time.Hour), "cancelled", "late"); !errors.As(r.Err, &state) || state.State != task.Cancelled {
		t.Errorf("a claim got %v", r.Err)
	}
}

func TestTheOriginalCallsAlmostASecondEarly(t *testing.T) {
	w, got := wheel(t, redistest.New(t).Addr)
	add(t, w, "a", instant.Add(999*time.Millisecond))
	runs(t, w, instant, instant)
	if got.list() != "a" {
		t.Error("the original waits within a second")
	}
}

func TestNothingIsTakenAMillisecondEarly(t *testing.T) {
	s := openStore(t, redistest.New(t).Addr)
	create(t, s, spec("a", instant.Add(999*time.Millisecond)))
	for _, before := range []time.Duration{999 * time.Millisecond, time.Millisecond, time.Nanosecond} {
		if r := claim(t, s, instant.Add(999*time.Millisecond-before), "a", "early"); !errors.Is(r.Err, task.ErrNotDue) {
			t.Errorf("%v early a claim got %v", before, r.Err)
		}
	}
	if r := claim(t, s, instant.Add(999*time.Millisecond), "a", "on time"); r.Err != nil {
		t.Errorf("in its millisecond a claim got %v", r.Err)
	}
}

func TestTheOriginalCancelsNothingWithoutTheDueTime(t *testing.T) {
	w, got := wheel(t, redistest.New(t).Addr)
	add(t, w, "a", instant)
	if err := w.Cancel(t.Context(), "a", instant.Add(-time.Minute)); err != nil { // the caller has a wrong due time
		t.Fatal("the original knows that there is no such task:", err)
	}
	runs(t, w, instant.Add(-time.Minute), instant)
	if got.list() != "a" {
		t.Error("the original finds a task without its due time")
	}
}

func TestACancelNeedsTheNameAlone(t *testing.T) {
	s := openStore(t, redistest.New(t).Addr)
	create(t, s, spec("a", instant))
	apply(t, s, instant.Add(-time.Minute), task.Cancel{Key: task.Key{Namespace: task.DefaultNamespace, Name: "a"}})
	if got, err := s.Get(t.Context(), task.Key{Namespace: task.DefaultNamespace, Name: "a"}); err != nil || got.State != task.Cancelled {
		t.Errorf("it is %+v, %v", got, err)
	}
	unknown := task.Cancel{Key: task.Key{Namespace: task.DefaultNamespace, Name: "b"}}
	if replies, err := s.Apply(t.Context(), task.CeilMillis(instant), []task.Change{unknown}); err != nil || !errors.Is(replies[0].Err, task.ErrNotFound) {
		t.Errorf("a name that there is not got %+v, %v", replies, err)
	}
}
