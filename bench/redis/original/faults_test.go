package original

import (
	"fmt"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/redistest"
)

// Each test shows a fault.

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

func TestTheOriginalNeverCallsWhatIsAddedTooLate(t *testing.T) {
	got := receive(t)
	w := wheel(t, got, redistest.New(t).Addr)
	got.runs(t, w, instant.Add(-time.Minute), instant)
	add(t, w, got.task("past"), instant.Add(-10*time.Second))
	add(t, w, got.task("soon"), instant.Add(999*time.Millisecond))
	got.runs(t, w, instant.Add(time.Second), instant.Add(3*time.Minute))
	saw(t, got.String(), "called: nothing")
}

func TestTheOriginalCallsTwoBodiesOfAKey(t *testing.T) {
	got := receive(t)
	w := wheel(t, got, redistest.New(t).Addr)
	add(t, w, got.task("a", 1), instant)
	add(t, w, got.task("a", 2), instant)
	got.runs(t, w, instant, instant)
	saw(t, got.String(), "called: a(1), a(2)")
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

func TestTheOriginalLosesACallThatFails(t *testing.T) {
	got := receive(t)
	got.fails = 1
	w := wheel(t, got, redistest.New(t).Addr)
	add(t, w, got.task("a"), instant)
	got.runs(t, w, instant, instant.Add(3*time.Minute))
	saw(t, got.String(), "called: a (replied 500)")
}

func TestTheOriginalCancelsNothingWithoutTheDueTime(t *testing.T) {
	got := receive(t)
	w := wheel(t, got, redistest.New(t).Addr)
	add(t, w, got.task("a"), instant)
	cancel(t, w, "a", instant.Add(-time.Minute)) // the caller has a wrong due time
	got.runs(t, w, instant.Add(-time.Minute), instant)
	saw(t, got.String(), "called: a")
}

func TestTheOriginalDoesNotFindADueTimeOfAnotherZone(t *testing.T) {
	got := receive(t)
	w := wheel(t, got, redistest.New(t).Addr)
	add(t, w, got.task("a"), instant.In(time.FixedZone("", 3600)))
	got.runs(t, w, instant.Add(-time.Minute), instant.Add(3*time.Minute))
	saw(t, got.String(), "called: nothing")
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
