package original

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/task"
)

// Each fault has two tests: one shows that the original fails, the other that
// Foliot's store does not. docs/redis-original-design.md lists them.

func TestTheOriginalLosesWhatADeadNodeHadTaken(t *testing.T) {
	addr, got := redistest.New(t).Addr, receive(t)
	dead := wheel(t, got, addr)
	add(t, dead, got.task("a"), instant)
	if tasks, err := dead.take(t.Context(), instant); err != nil || len(tasks) != 1 {
		t.Fatal(tasks, err)
	}
	// The node is killed here, before it has called. Another node scans this
	// second, and all seconds of the next three minutes.
	got.runs(t, wheel(t, got, addr), instant, instant.Add(3*time.Minute))
	if size := command(t, addr, "DBSIZE"); size != ":0" {
		t.Errorf("Redis has %s keys: what is lost is somewhere", size)
	}
	saw(t, got.String(), "called: nothing")
}

func TestWhatADeadNodeHadTakenIsTakenAgain(t *testing.T) {
	addr, got := redistest.New(t).Addr, receive(t)
	dead := openStore(t, addr)
	create(t, dead, got.spec("a", instant))
	if r := claim(t, dead, instant, "a", "dead"); r.Err != nil {
		t.Fatal(r.Err)
	}
	// The node is killed here. Its lease lasts 15 seconds.
	other := openStore(t, addr)
	later := instant.Add(15 * time.Second)
	if n, err := other.Reap(t.Context(), task.FloorMillis(later), 10); n != 1 || err != nil {
		t.Fatalf("%d leases were taken back, %v", n, err)
	}
	got.dispatches(t, other, later, "a")
	saw(t, got.String(), "called: a")
}

func TestTheOriginalNeverCallsWhatIsDueInASkippedSecond(t *testing.T) {
	got := receive(t)
	w := wheel(t, got, redistest.New(t).Addr)
	for i, key := range []string{"a", "b", "c", "d", "e"} {
		add(t, w, got.task(key), instant.Add(time.Duration(i)*time.Second))
	}
	got.runs(t, w, instant, instant)
	// The process is paused for four seconds: a time.Ticker drops ticks that
	// are not received.
	got.runs(t, w, instant.Add(4*time.Second), instant.Add(3*time.Minute))
	saw(t, got.String(), "called: a, b, e")
}

func TestWhatCameDueWhileNobodyLookedIsDelivered(t *testing.T) {
	s, got := openStore(t, redistest.New(t).Addr), receive(t)
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		create(t, s, got.spec(name, instant.Add(time.Duration(i)*time.Second)))
	}
	got.dispatches(t, s, instant, "a")
	got.dispatches(t, s, instant.Add(4*time.Second), "e")
	saw(t, got.String(), "called: a, b, c, d, e")
}

func TestTheOriginalCallsWhatWasCancelledTwoMinutesBefore(t *testing.T) {
	addr, got := redistest.New(t).Addr, receive(t)
	w := wheel(t, got, addr)
	add(t, w, got.task("cancelled"), instant)
	add(t, w, got.task("other"), instant)
	cancel(t, w, "cancelled", instant)
	passes(t, addr, 0, 120) // the tasks are not due yet
	got.runs(t, w, instant, instant)
	saw(t, got.String(), "called: cancelled, other")
}

func TestWhatWasCancelledIsNotCalledHoweverMuchLater(t *testing.T) {
	s, got := openStore(t, redistest.New(t).Addr), receive(t)
	create(t, s, got.spec("cancelled", instant), got.spec("other", after))
	apply(t, s, instant.Add(-time.Hour), task.Cancel{Key: key("cancelled")})
	got.dispatches(t, s, after, "other")
	var state *task.StateError
	if r := claim(t, s, instant.Add(time.Hour), "cancelled", "late"); !errors.As(r.Err, &state) || state.State != task.Cancelled {
		t.Errorf("a claim got %v", r.Err)
	}
	saw(t, got.String(), "called: other")
}

func TestTheOriginalForgetsLaterCancelsWithTheFirst(t *testing.T) {
	addr, got := redistest.New(t).Addr, receive(t)
	w := wheel(t, got, addr)
	for _, key := range []string{"first", "later", "other"} {
		add(t, w, got.task(key), instant)
	}
	cancel(t, w, "first", instant)
	passes(t, addr, 0, 110)
	cancel(t, w, "later", instant)
	passes(t, addr, 110, 10)
	got.runs(t, w, instant, instant)
	saw(t, got.String(), "called: first, later, other")
}

func TestEachCancelIsRemembered(t *testing.T) {
	s, got := openStore(t, redistest.New(t).Addr), receive(t)
	create(t, s, got.spec("first", instant), got.spec("later", instant), got.spec("other", after))
	apply(t, s, instant.Add(-121*time.Second), task.Cancel{Key: key("first")})
	apply(t, s, instant.Add(-11*time.Second), task.Cancel{Key: key("later")})
	got.dispatches(t, s, after, "other")
	saw(t, got.String(), "called: other")
}

// passes lets seconds pass for the cancelled keys of the minute of instant.
// Before that, their time has begun so many seconds ago.
func passes(t *testing.T, addr string, ago, seconds int) {
	t.Helper()
	marks, left := keys(instant)[1], 120-ago
	if ttl := command(t, addr, "TTL", marks); ttl != fmt.Sprint(":", left) && ttl != fmt.Sprint(":", left-1) {
		t.Errorf("the marks stay for %s seconds", ttl)
	}
	if left -= seconds; left > 0 {
		command(t, addr, "EXPIRE", marks, fmt.Sprint(left))
	} else {
		command(t, addr, "EXPIREAT", marks, "1")
	}
}

func TestTheOriginalCallsUpToTwoSecondsEarly(t *testing.T) {
	got := receive(t)
	w, minute := wheel(t, got, redistest.New(t).Addr), instant.Add(30*time.Second)
	due := map[string]time.Time{"a": instant, "b": instant.Add(999 * time.Millisecond), "c": minute, "d": minute.Add(999 * time.Millisecond)}
	for key, at := range due {
		add(t, w, got.task(key), at)
	}
	got.runs(t, w, instant.Add(-time.Minute), minute)
	// The scan at :59 looks for :60 too, but not in the next minute's set.
	saw(t, got.early(due), "called: a 1s early, b 1.999s early, c on time, d 999ms early")
}

func TestNothingIsTakenAMillisecondEarly(t *testing.T) {
	s, due := openStore(t, redistest.New(t).Addr), instant.Add(999*time.Millisecond)
	create(t, s, new(receiver).spec("a", due))
	var got []string
	for _, before := range []time.Duration{1999 * time.Millisecond, time.Millisecond, time.Nanosecond, 0} {
		switch r := claim(t, s, due.Add(-before), "a", "node"); {
		case r.Err == nil:
			got = append(got, fmt.Sprintf("taken %v early", before))
		case errors.Is(r.Err, task.ErrNotDue):
			got = append(got, fmt.Sprintf("refused %v early", before))
		default:
			t.Error(r.Err)
		}
	}
	saw(t, strings.Join(got, ", "), "refused 1.999s early, refused 1ms early, refused 1ns early, taken 0s early")
}

func TestTheOriginalNeverCallsWhatIsAddedTooLate(t *testing.T) {
	got := receive(t)
	w := wheel(t, got, redistest.New(t).Addr)
	got.runs(t, w, instant.Add(-time.Minute), instant)
	add(t, w, got.task("past"), instant.Add(-10*time.Second))
	add(t, w, got.task("soon"), instant.Add(999*time.Millisecond))
	got.runs(t, w, instant.Add(time.Second), instant.Add(3*time.Minute))
	saw(t, got.String(), "called: nothing")
}

func TestATimeInThePastIsDueAtOnce(t *testing.T) {
	s, got := openStore(t, redistest.New(t).Addr), receive(t)
	due := map[string]time.Time{"past": instant.Add(-10 * time.Second), "soon": instant.Add(999 * time.Millisecond)}
	for name, at := range due {
		apply(t, s, instant, task.Create{Spec: got.spec(name, at)})
	}
	got.dispatches(t, s, instant, "past")
	got.dispatches(t, s, due["soon"], "soon")
	saw(t, got.early(due), "called: past 10s late, soon on time")
}

func TestTheOriginalCallsTwoBodiesOfAKey(t *testing.T) {
	got := receive(t)
	w := wheel(t, got, redistest.New(t).Addr)
	add(t, w, got.task("a", 1), instant)
	add(t, w, got.task("a", 2), instant)
	got.runs(t, w, instant, instant)
	saw(t, got.String(), "called: a(1), a(2)")
}

func TestANameIsCalledOnce(t *testing.T) {
	s, got := openStore(t, redistest.New(t).Addr), receive(t)
	create(t, s, got.spec("a", instant, '1'), got.spec("other", after))
	if err := refused(t, s, instant, task.Create{Spec: got.spec("a", instant, '2')}); !errors.Is(err, task.ErrExists) {
		t.Errorf("a second create got %v", err)
	}
	got.dispatches(t, s, after, "other")
	saw(t, got.String(), "called: a(1), other")
}

func TestTheOriginalRevivesACancelledTask(t *testing.T) {
	got := receive(t)
	w := wheel(t, got, redistest.New(t).Addr)
	add(t, w, got.task("a", 1), instant)
	cancel(t, w, "a", instant)
	add(t, w, got.task("a", 2), instant)
	got.runs(t, w, instant, instant)
	saw(t, got.String(), "called: a(1), a(2)")
}

func TestACancelledTaskIsNotRevived(t *testing.T) {
	s, got := openStore(t, redistest.New(t).Addr), receive(t)
	create(t, s, got.spec("a", instant, '1'), got.spec("other", after))
	apply(t, s, instant.Add(-time.Minute), task.Cancel{Key: key("a")})
	apply(t, s, instant.Add(-time.Minute), task.Replace{Spec: got.spec("a", instant, '2')})
	got.dispatches(t, s, after, "other")
	saw(t, got.String(), "called: a(2), other")
}

func TestTheOriginalLosesACallThatFails(t *testing.T) {
	got := receive(t)
	got.fails = 1
	w := wheel(t, got, redistest.New(t).Addr)
	add(t, w, got.task("a"), instant)
	got.runs(t, w, instant, instant.Add(3*time.Minute))
	saw(t, got.String(), "called: a (replied 500)")
}

func TestACallThatFailsIsRepeated(t *testing.T) {
	s, got := openStore(t, redistest.New(t).Addr), receive(t)
	got.fails = 1
	create(t, s, got.spec("a", instant))
	got.dispatches(t, s, instant, "a")
	got.dispatches(t, s, instant.Add(3*time.Minute), "a")
	saw(t, got.String(), "called: a (replied 500), a")
}

func TestTheOriginalCancelsNothingWithoutTheDueTime(t *testing.T) {
	got := receive(t)
	w := wheel(t, got, redistest.New(t).Addr)
	add(t, w, got.task("a"), instant)
	cancel(t, w, "a", instant.Add(-time.Minute)) // the caller has a wrong due time
	got.runs(t, w, instant.Add(-time.Minute), instant)
	saw(t, got.String(), "called: a")
}

func TestACancelNeedsTheNameAlone(t *testing.T) {
	s, got := openStore(t, redistest.New(t).Addr), receive(t)
	create(t, s, got.spec("a", instant), got.spec("other", after))
	apply(t, s, instant.Add(-time.Minute), task.Cancel{Key: key("a")})
	if err := refused(t, s, instant, task.Cancel{Key: key("b")}); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("a name that there is not got %v", err)
	}
	got.dispatches(t, s, after, "other")
	saw(t, got.String(), "called: other")
}

func TestTheOriginalDoesNotFindADueTimeOfAnotherZone(t *testing.T) {
	got := receive(t)
	w := wheel(t, got, redistest.New(t).Addr)
	add(t, w, got.task("a"), instant.In(time.FixedZone("", 3600)))
	got.runs(t, w, instant.Add(-time.Minute), instant.Add(3*time.Minute))
	saw(t, got.String(), "called: nothing")
}

func TestADueTimeMeansTheSameInEachZone(t *testing.T) {
	s, got := openStore(t, redistest.New(t).Addr), receive(t)
	create(t, s, got.spec("a", instant.In(time.FixedZone("", 3600))))
	got.dispatches(t, s, instant, "a")
	saw(t, got.String(), "called: a")
}

// twice returns the two instants that are 02:30:30 of one day in Berlin.
func twice(t *testing.T) map[string]time.Time {
	t.Helper()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	first := time.Date(2026, 10, 25, 0, 30, 30, 0, time.UTC).In(berlin)
	return map[string]time.Time{"first": first, "second": first.Add(time.Hour)}
}

func TestTheOriginalFailsWhenClocksAreSetBack(t *testing.T) {
	got, due := receive(t), twice(t)
	w := wheel(t, got, redistest.New(t).Addr)
	for key, at := range due {
		add(t, w, got.task(key), at)
	}
	for _, key := range []string{"first", "second"} {
		got.runs(t, w, due[key].Add(-time.Minute), due[key].Add(time.Minute))
	}
	saw(t, got.early(due), "called: second 1h0m1s early")
}

func TestEachOfTwoEqualWallClockTimesIsKept(t *testing.T) {
	s, got, due := openStore(t, redistest.New(t).Addr), receive(t), twice(t)
	create(t, s, got.spec("first", due["first"]), got.spec("second", due["second"]))
	got.dispatches(t, s, due["first"], "first")
	got.dispatches(t, s, due["second"], "second")
	saw(t, got.early(due), "called: first on time, second on time")
}
