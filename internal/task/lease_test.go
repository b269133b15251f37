package task

import (
	"errors"
	"testing"
	"time"
)

func TestClaimTable(t *testing.T) {
	tasks := oneOfEachState(t)
	for state, want := range map[string]cell{
		"absent":     notFound,
		"scheduled":  {effect: Updated, state: Running},
		"running":    isRunning,
		"superseded": isRunning,
		"dead":       isDead,
		"delivered":  isFinished,
		"cancelled":  isFinished,
		"expired":    isFinished,
	} {
		old := tasks[state]
		c := Claim{Key: validSpec().Key, Lane: tasks["scheduled"].Lane(), Token: "another", Until: t0 + 2*minute}
		if err := want.check(c.Apply(t0+minute, old, facts)); err != nil {
			t.Errorf("%s: %v", state, err)
		}
	}
}

func TestClaimIsNeverEarly(t *testing.T) {
	old := create(t)
	c := Claim{Key: old.Key(), Lane: old.Lane(), Token: "token", Until: old.Due + minute}
	if _, err := c.Apply(old.Due-1, old, facts); !errors.Is(err, ErrNotDue) {
		t.Errorf("a millisecond early: %v", err)
	}
	if _, err := c.Apply(old.Due, old, facts); err != nil {
		t.Errorf("at the due time: %v", err)
	}
}

func TestClaimChecksEachPartOfTheLane(t *testing.T) {
	old := create(t)
	for name, edit := range map[string]func(*Lane){
		"namespace":   func(l *Lane) { l.Namespace = "x" },
		"queue":       func(l *Lane) { l.Queue = "x" },
		"priority":    func(l *Lane) { l.Priority = High },
		"destination": func(l *Lane) { l.Destination = "x:443" },
	} {
		c := Claim{Key: old.Key(), Lane: old.Lane(), Token: "token"}
		edit(&c.Lane)
		if _, err := c.Apply(old.Due, old, facts); !errors.Is(err, ErrLaneChanged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestARepeatedClaimHasTheSameResult(t *testing.T) {
	runs := oneOfEachState(t)["running"]
	c := Claim{Key: runs.Key(), Lane: runs.Lane(), Token: runs.Lease.Token, Until: t0 + 99*minute}
	r, err := c.Apply(runs.Due+5, runs, facts)
	if err != nil || r.Effect != Repeated || r.Task != runs {
		t.Errorf("effect %d, error %v", r.Effect, err)
	}
}

func TestARepeatedClaimNeverStartsTheReplacement(t *testing.T) {
	runs := oneOfEachState(t)["running"]
	replaced := apply(t, runs.Due, runs, Replace{Spec: validSpec(withSecondID, func(s *Spec) { s.When = When{At: t0 + 99*minute} })})
	c := Claim{Key: runs.Key(), Lane: replaced.Lane(), Token: runs.Lease.Token, Until: t0 + 99*minute}
	if err := isRunning.check(c.Apply(runs.Due+5, replaced, facts)); err != nil {
		t.Errorf("the new task is due in 98 minutes: %v", err)
	}
}

func TestExpiryCountsFromTheRequestedDueTime(t *testing.T) {
	old := attempt(t, create(t, func(s *Spec) { s.ExpireAfter = time.Second }), Outcome{Verdict: Failure})
	asked := old.OriginalDue
	if old.Due <= asked {
		t.Fatal("the retry did not move the task")
	}
	if old.ExpiresAt() != asked+1000 {
		t.Errorf("a retry moved the expiry by %+d", old.ExpiresAt()-asked-1000)
	}
	moved := apply(t, t0, old, Patch{Key: old.Key(), When: &When{At: t0 + 5*minute}})
	if moved.ExpiresAt() != t0+5*minute+1000 {
		t.Errorf("a move left the expiry at t0+%d", moved.ExpiresAt()-t0)
	}
	if create(t).ExpiresAt() != 0 {
		t.Error("a task without expire_after expires")
	}
	// Downtime alone uses up no attempts and no age.
	claim(t, create(t).Due+1_000_000*minute, create(t), "token")
}

func TestOnlyTheHolderExtendsAndSettles(t *testing.T) {
	for state, old := range oneOfEachState(t) {
		for _, token := range []Token{"token", "another", ""} {
			holds := (state == "running" || state == "superseded") && token == "token"
			_, err := Extension{Key: validSpec().Key, Token: token, Until: 5}.Apply(t0, old, facts)
			if holds != (err == nil) || !holds && !errors.Is(err, ErrStale) {
				t.Errorf("extend %s with %q: %v", state, token, err)
			}
			_, err = Settlement{Key: validSpec().Key, Token: token, Outcome: Outcome{Verdict: Success}}.Apply(t0, old, facts)
			if holds != (err == nil) || !holds && !errors.Is(err, ErrStale) {
				t.Errorf("settle %s with %q: %v", state, token, err)
			}
		}
	}
}

func TestExtensionMovesTheLeasesEndAlone(t *testing.T) {
	runs := oneOfEachState(t)["running"]
	r, err := Extension{Key: runs.Key(), Token: "token", Until: t0 + 9*minute}.Apply(t0, runs, facts)
	want := runs.Clone()
	want.Lease.Until = t0 + 9*minute
	if d := diff(want, r.Task); err != nil || d != "" {
		t.Errorf("error %v (- want, + got):\n%s", err, d)
	}
}

func TestSettlementRecordsTheAttempt(t *testing.T) {
	runs := oneOfEachState(t)["running"]
	got := settle(t, runs.Due+800, runs, Outcome{
		Verdict: Failure, Status: 500, Error: "the receiver said 500", StartedAt: runs.Due + 12, Latency: 700 * time.Millisecond, Late: 12_345 * time.Microsecond, Reply: "oops",
	})
	want := Attempt{Number: 1, StartedAt: runs.Due + 12, Status: 500, Error: "the receiver said 500", Latency: 700 * time.Millisecond, Late: 12_345 * time.Microsecond, Reply: "oops"}
	if len(got.History) != 1 || got.History[0] != want {
		t.Errorf("history %+v, want %+v", got.History, want)
	}
}

func TestOutcomes(t *testing.T) {
	retry := func(s *Spec) {
		s.Retry = Retry{MaxAttempts: 3, MinBackoff: 10 * time.Second, MaxBackoff: time.Minute, MaxAge: time.Hour}
	}
	for _, c := range []struct {
		name     string
		outcome  Outcome
		state    State
		reason   string
		attempts int
		used     int
		wait     [2]time.Duration // from the settlement; bounds, inclusive
	}{
		{"success", Outcome{Verdict: Success}, Delivered, "", 1, 0, [2]time.Duration{}},
		{"failure", Outcome{Verdict: Failure}, Scheduled, "", 1, 1, [2]time.Duration{10 * time.Second, 10 * time.Second}},
		{"refusal", Outcome{Verdict: Refusal, Reason: "no_retry"}, Dead, "no_retry", 1, 0, [2]time.Duration{}},
		{"snooze", Outcome{Verdict: Snooze, RetryAfter: 42 * time.Second}, Scheduled, "", 1, 0, [2]time.Duration{42 * time.Second, 42 * time.Second}},
		{"snooze too short", Outcome{Verdict: Snooze}, Scheduled, "", 1, 0, [2]time.Duration{10 * time.Second, 10 * time.Second}},
		{"snooze too long", Outcome{Verdict: Snooze, RetryAfter: time.Hour}, Scheduled, "", 1, 0, [2]time.Duration{time.Minute, time.Minute}},
		{"snooze in the past", Outcome{Verdict: Snooze, RetryAfter: -time.Hour}, Scheduled, "", 1, 0, [2]time.Duration{10 * time.Second, 10 * time.Second}},
	} {
		t.Run(c.name, func(t *testing.T) {
			old := create(t, retry)
			now := old.Due + 300
			got := settle(t, now, claim(t, old.Due, old, "token"), c.outcome)
			if got.State != c.state || got.Reason != c.reason || got.Attempts != c.attempts || got.AttemptsUsed != c.used {
				t.Errorf("%v, reason %q, attempts %d, used %d", got.State, got.Reason, got.Attempts, got.AttemptsUsed)
			}
			if wait := got.Due.Sub(now); got.State == Scheduled && (wait < c.wait[0] || wait > c.wait[1]) {
				t.Errorf("next attempt in %v, want %v to %v", wait, c.wait[0], c.wait[1])
			}
		})
	}
}

func TestAnInterruptedAttemptIsDueAtOnceAndDoesNotCount(t *testing.T) {
	old := create(t)
	got := attempt(t, old, Outcome{Verdict: Interrupted, StartedAt: old.Due})
	if got.State != Scheduled || got.Due != old.Due || got.AttemptsUsed != 0 {
		t.Errorf("%v, due %+d, used %d", got.State, got.Due-old.Due, got.AttemptsUsed)
	}
	if got.Attempts != 1 || len(got.History) != 1 || got.FirstAttemptAt != old.Due {
		t.Errorf("attempts %d, %d in the history, first at %d: it was sent and counts as started", got.Attempts, len(got.History), got.FirstAttemptAt)
	}
}

func TestAnUnsentAttemptLeavesTheTaskUnchanged(t *testing.T) {
	old := create(t)
	failed := attempt(t, old, Outcome{Verdict: Failure})
	lost := claim(t, old.Due, old, "lost").Reap(old.Due+minute, true, policy).Task
	lost = apply(t, old.Due, lost, Patch{Key: old.Key(), When: &When{At: old.Due + minute}})
	touched := apply(t, failed.Due, failed, Touch{Key: old.Key()})
	for name, before := range map[string]*Task{"first": old, "after a failure": failed, "after a lost lease": lost, "after a touch": touched} {
		got := attempt(t, before, Outcome{Verdict: Unsent})
		if d := diff(before, got); d != "" {
			t.Errorf("%s (- before the claim, + after):\n%s", name, d)
		}
	}
}

func TestAttemptsAreExhausted(t *testing.T) {
	got := create(t, func(s *Spec) { s.Retry.MaxAttempts = 3 })
	for range 2 {
		if got = attempt(t, got, Outcome{Verdict: Failure}); got.State != Scheduled {
			t.Fatalf("%v after %d attempts", got.State, got.Attempts)
		}
		got = attempt(t, got, Outcome{Verdict: Snooze})
	}
	if got = attempt(t, got, Outcome{Verdict: Failure}); got.State != Dead || got.Reason != ReasonAttempts || got.Attempts != 5 {
		t.Errorf("%v (%s) after %d attempts, two of them snoozed", got.State, got.Reason, got.Attempts)
	}
	if got.KeepUntil != got.FinishedAt.Add(policy.KeepDead) || got.Request.BodySize == 0 {
		t.Errorf("kept for %v with %d bytes", got.KeepUntil.Sub(got.FinishedAt), got.Request.BodySize)
	}
}

// day is longer than the default MaxAge.
const day = 25 * 60 * minute

func TestDowntimeNeverKillsATask(t *testing.T) {
	late := create(t)
	late.Due += day // its first attempt is late too
	got := attempt(t, late, Outcome{Verdict: Failure})
	for _, verdict := range []Verdict{Failure, Snooze, Failure, Failure} {
		again := got.Due + day // the server was down, the queue paused, or the clock was ahead
		got = settle(t, again+day, claim(t, again, got, "token"), Outcome{Verdict: verdict, Latency: time.Second})
		if got.State != Scheduled {
			t.Fatalf("%v, %s, aged %v", got.State, got.Reason, got.Aged)
		}
		got = settle(t, got.Due+day, claim(t, got.Due, got, "token"), Outcome{Verdict: Interrupted, Latency: time.Hour})
	}
}

func TestAttemptsAndTheirWaitsCountAgainstMaxAge(t *testing.T) {
	for _, verdict := range []Verdict{Failure, Snooze} {
		got := create(t, func(s *Spec) { s.Retry = Retry{MaxAge: time.Hour, MinBackoff: time.Minute, MaxBackoff: time.Minute} })
		began := got.Due
		for got.State == Scheduled {
			end := got.Due + minute // an attempt takes a minute, and so does each wait
			got = settle(t, end, claim(t, got.Due, got, "token"), Outcome{Verdict: verdict, Latency: time.Minute, RetryAfter: time.Minute})
		}
		if age := got.FinishedAt - began; got.State != Dead || got.Reason != ReasonAge || age < 60*minute || age > 61*minute {
			t.Errorf("verdict %d: %v, %s, after %v", verdict, got.State, got.Reason, got.FinishedAt.Sub(began))
		}
	}
	old := create(t, func(s *Spec) { s.Retry.MaxAge = time.Hour })
	if got := settle(t, old.Due, claim(t, old.Due, old, "token"), Outcome{Verdict: Success, Latency: 2 * time.Hour}); got.State != Delivered {
		t.Errorf("a late success: %v", got.State)
	}
}

func TestTheWaitForAnOpenBreakerCountsAgainstMaxAge(t *testing.T) {
	first := create(t, func(s *Spec) { s.Retry.MaxAge = time.Hour })
	delayed := Outcome{Verdict: Failure, ReceiverDelay: 2 * time.Hour}
	again := settle(t, first.Due+day, claim(t, first.Due+day, first, "token"), delayed)
	if again.State != Scheduled {
		t.Fatalf("it died of its first attempt: %s", again.Reason)
	}
	if got := settle(t, again.Due+day, claim(t, again.Due+day, again, "token"), delayed); got.State != Dead || got.Reason != ReasonAge {
		t.Errorf("%v after two hours behind a breaker, aged %v", got.State, got.Aged)
	}
	if got := settle(t, again.Due, claim(t, again.Due, again, "token"), delayed); got.State != Scheduled {
		t.Errorf("%v: the breaker was open, but the task was not due then", got.State)
	}
}

func TestTheRestOfAShortenedWaitDoesNotCountAgainstMaxAge(t *testing.T) {
	failed := attempt(t, create(t, func(s *Spec) { s.Retry.MinBackoff = time.Hour }), Outcome{Verdict: Failure})
	if failed.Aged < time.Hour {
		t.Fatalf("aged %v", failed.Aged)
	}
	early := failed.Due - 60*minute
	for name, change := range map[string]Change{"run": Run{Key: failed.Key()}, "move": Patch{Key: failed.Key(), When: &When{At: early + day}}} {
		got := apply(t, early, failed, change)
		if got.Aged != failed.Aged-time.Hour {
			t.Errorf("%s: aged %v, before %v", name, got.Aged, failed.Aged)
		}
		if again := apply(t, early, got, Run{Key: failed.Key()}); again.Aged != got.Aged {
			t.Errorf("%s, and run again: aged %v, before %v", name, again.Aged, got.Aged)
		}
	}
}

func TestHistoryKeepsTheLastAttempts(t *testing.T) {
	got := create(t, func(s *Spec) { s.Retry.MaxAge = 0 })
	for range MaxHistory + 7 {
		got = attempt(t, got, Outcome{Verdict: Failure, Status: 503, Error: "busy", Reply: "later"})
	}
	got = attempt(t, got, Outcome{Verdict: Success, Reply: "fine"})
	for i, a := range got.History[:len(got.History)-1] {
		if a.Number != i+9 || a.Status != 503 || a.Error != "busy" || a.Reply != "" {
			t.Errorf("attempt %d: %+v", i+9, a)
		}
	}
	if n := len(got.History); n != MaxHistory || got.History[n-1].Number != MaxHistory+8 || got.History[n-1].Reply != "fine" {
		t.Errorf("%d attempts, the last %+v", n, got.History[n-1])
	}
}

func TestReapMakesTheTaskDueAgain(t *testing.T) {
	old := create(t)
	runs := claim(t, old.Due+40, old, "token")
	got := runs.Reap(old.Due+2*minute, false, policy).Task
	if got.State != Scheduled || got.Due != old.Due || got.Lease != nil || got.Reclaims != 1 || got.AttemptsUsed != 0 || got.Attempts != 1 {
		t.Errorf("%+v", got)
	}
	if len(got.History) != 1 || got.History[0].Number != 1 || got.History[0].StartedAt != old.Due+40 || got.History[0].Late != 40*time.Millisecond || got.History[0].Error == "" {
		t.Errorf("history %+v", got.History)
	}
}

func TestReclaimsAreExhausted(t *testing.T) {
	got := create(t)
	for n := 1; n <= MaxReclaims; n++ {
		if got.State != Scheduled {
			t.Fatalf("%v after %d reclaims", got.State, got.Reclaims)
		}
		got = claim(t, got.Due, got, "token").Reap(got.Due, true, policy).Task
	}
	if got.State != Dead || got.Reason != ReasonReclaims || got.Request.BodySize == 0 {
		t.Errorf("%v, %s", got.State, got.Reason)
	}
	if again := apply(t, got.Due, got, Revive{Key: got.Key()}); again.Reclaims != 0 {
		t.Errorf("%d reclaims after a retry by hand: the next crash would kill it", again.Reclaims)
	}
}

func TestReapOfASupersededAttemptBeginsTheNewTask(t *testing.T) {
	superseded := oneOfEachState(t)["superseded"]
	got := superseded.Reap(superseded.Due, true, policy).Task
	want := apply(t, superseded.CreatedAt, nil, Create{Spec: validSpec(withSecondID)})
	if d := diff(want, got); d != "" {
		t.Errorf("the old attempt's loss shows in the new task (- want, + got):\n%s", d)
	}
}

// TestALostAttemptMayStillBeSending: until lease and timeout have passed, a
// cancel returns Accepted. If the holder is known to be dead, it returns
// Updated.
func TestALostAttemptMayStillBeSending(t *testing.T) {
	runs := oneOfEachState(t)["running"]
	lost, gone := runs.Reap(runs.Lease.Until, false, policy).Task, runs.Reap(runs.Lease.Until, true, policy).Task
	zombie := runs.Lease.Until.Add(runs.Timeout)
	if lost.MaybeSendingUntil != zombie || gone.MaybeSendingUntil != 0 {
		t.Fatalf("zombie until %+d and %d", lost.MaybeSendingUntil-zombie, gone.MaybeSendingUntil)
	}
	replaced := apply(t, t0, lost, Replace{Spec: validSpec(withSecondID)})
	for _, c := range []struct {
		name string
		old  *Task
		now  Millis
		want Effect
	}{
		{"just before", lost, zombie - 1, Accepted},
		{"replaced, just before", replaced, zombie - 1, Accepted},
		{"over", lost, zombie, Updated},
		{"holder dead", gone, zombie - 1, Updated},
	} {
		r, err := Cancel{Key: c.old.Key()}.Apply(c.now, c.old, facts)
		if err != nil || r.Effect != c.want || r.Task.State != Cancelled {
			t.Errorf("%s: effect %d, %v, error %v", c.name, r.Effect, r.Task.State, err)
		}
	}
}

// A watchdog with ten crashes in a year stays out of quarantine: its reclaims
// are not in a row.
func TestReclaimsCountInARow(t *testing.T) {
	lose := func(old *Task) *Task {
		return claim(t, old.Due, old, "token").Reap(old.Due, true, policy).Task
	}
	lost := lose(create(t))
	if lost.Reclaims != 1 {
		t.Fatalf("reclaims %d after a claim that was lost", lost.Reclaims)
	}
	if s := attempt(t, lost, Outcome{Verdict: Failure}); s.Reclaims != 0 {
		t.Errorf("reclaims %d after an attempt that was settled", s.Reclaims)
	}
	if s := attempt(t, lost, Outcome{Verdict: Unsent}); s.Reclaims != 1 {
		t.Errorf("reclaims %d after an attempt that never began", s.Reclaims)
	}
	if s := apply(t, lost.Due, lost, Touch{Key: lost.Key()}); s.Reclaims != 0 {
		t.Errorf("reclaims %d after a touch", s.Reclaims)
	}
}

// A patch counts from the next attempt on. The attempt under way keeps its own
// timeout.
func TestALostAttemptMayBeSendingForItsFirstTimeout(t *testing.T) {
	runs := oneOfEachState(t)["running"]
	shorter := time.Millisecond
	patched := apply(t, t0, runs, Patch{Key: runs.Key(), Timeout: &shorter})
	lost := patched.Reap(runs.Lease.Until, false, policy).Task
	if want := runs.Lease.Until.Add(runs.Timeout); lost.MaybeSendingUntil != want {
		t.Errorf("zombie until %+d", lost.MaybeSendingUntil-want)
	}
}

func TestAReplacementOfAFinishedTaskKeepsMaybeSendingUntil(t *testing.T) {
	old := create(t)
	lost := claim(t, old.Due, old, "token").Reap(old.Due, false, policy).Task
	ended := apply(t, old.Due, lost, Cancel{Key: old.Key()})
	again := apply(t, old.Due, ended, Replace{Spec: validSpec(withSecondID)})
	if r, err := (Cancel{Key: old.Key()}).Apply(old.Due, again, facts); err != nil || r.Effect != Accepted {
		t.Errorf("cancel while the lost attempt may be on the wire: %v, %v", r.Effect, err)
	}
}

// TestAnUnsettledTaskIsPutIntoQuarantine: a settlement takes the task out
// again, as its attempt did not crash the process.
func TestAnUnsettledTaskIsPutIntoQuarantine(t *testing.T) {
	lose := func(old *Task) *Task {
		return claim(t, old.Due, old, "token").Reap(old.Due, true, policy).Task
	}
	lost := create(t)
	for range QuarantineAfter {
		if p := lost.Lane().Priority; p != Normal {
			t.Fatalf("%v after %d reclaims", p, lost.Reclaims)
		}
		lost = lose(lost)
	}
	if p := lost.Lane().Priority; p != Quarantine || lost.Priority != Normal {
		t.Fatalf("it waits as %v, and is %v", p, lost.Priority)
	}
	stale := Claim{Key: lost.Key(), Lane: create(t).Lane(), Token: "other", Until: lost.Due + minute}
	if _, err := stale.Apply(lost.Due, lost, facts); !errors.Is(err, ErrLaneChanged) {
		t.Errorf("a claim in its old lane: %v", err)
	}
	for name, c := range map[string]struct {
		got  *Task
		want Priority
	}{
		"lost again":    {lose(lost), Quarantine},
		"never begun":   {attempt(t, lost, Outcome{Verdict: Unsent}), Quarantine},
		"run by hand":   {apply(t, lost.Due, lost, Run{Key: lost.Key()}), Quarantine},
		"failed":        {attempt(t, lost, Outcome{Verdict: Failure}), Normal},
		"touched":       {apply(t, lost.Due, lost, Touch{Key: lost.Key()}), Normal},
		"another in it": {apply(t, lost.Due, lost, Replace{Spec: validSpec(withSecondID)}), Normal},
	} {
		if p := c.got.Lane().Priority; p != c.want {
			t.Errorf("%s: it waits as %v, want %v", name, p, c.want)
		}
	}
}

// This is promise P6 when a store's clock goes ahead, by a step or because
// another server takes over: every lease looks ended.
func TestACancelAfterAClockStepReportsThatAnAttemptMayBeUnderWay(t *testing.T) {
	runs := claim(t, t0+minute, create(t), "token")
	now := t0 + 100*minute // a moment later, by the sender's clock
	lost := runs.Reap(now, false, policy).Task
	r, err := Cancel{Key: lost.Key()}.Apply(now, lost, facts)
	if err != nil || r.Effect != Accepted {
		t.Errorf("effect %v, %v", r.Effect, err)
	}
	left := runs.Lease.Until - runs.Lease.Since // the most that its holder may still have
	if end := now + left; lost.MaybeSendingUntil < end.Add(runs.Timeout) {
		t.Errorf("zombie until %+d of the end of what it may begin", lost.MaybeSendingUntil-end)
	}
}

func TestAHandlerDecidesHowLongItsTaskWaits(t *testing.T) {
	made := create(t)
	snoozed := attempt(t, made, Outcome{Verdict: Snooze, Exact: true, RetryAfter: 48 * time.Hour})
	if due := made.Due + 48*60*minute; snoozed.Due != due || snoozed.OriginalDue != due || snoozed.AttemptsUsed != 0 || snoozed.Aged != 0 {
		t.Errorf("snoozed: due %+d ms, moved by %d, %d attempts used, aged %v", snoozed.Due-due, snoozed.OriginalDue-made.OriginalDue, snoozed.AttemptsUsed, snoozed.Aged)
	}
	failed := attempt(t, made, Outcome{Verdict: Failure, Exact: true, RetryAfter: 3 * time.Millisecond})
	if failed.Due != made.Due+3 || failed.OriginalDue != made.OriginalDue || failed.AttemptsUsed != 1 || failed.Aged != 3*time.Millisecond {
		t.Errorf("failed: due after %d ms, %d attempts used, aged %v", failed.Due-made.Due, failed.AttemptsUsed, failed.Aged)
	}
}

func TestAnExtensionReportsThatTheTaskWasCancelled(t *testing.T) {
	runs := claim(t, t0+minute, create(t), "token")
	cancelled := apply(t, t0+minute, runs, Cancel{Key: runs.Key()})
	r, err := Extension{Key: runs.Key(), Token: "token", Until: t0 + 9*minute}.Apply(t0+minute, cancelled, facts)
	if !errors.Is(err, ErrCancelRequested) || !Applied(err) || r.Task.Lease.Until != t0+9*minute {
		t.Errorf("%+v, %v", r.Task, err)
	}
}

func TestTheCancelOfARunningHandlerIsNoticed(t *testing.T) {
	for _, kind := range []string{"close", ""} {
		runs := claim(t, t0+minute, create(t), "token")
		runs.Request.Kind = kind
		cancelled := apply(t, t0+minute, runs, Cancel{Key: runs.Key()})
		if e, ok := Notice(runs, cancelled); ok != (kind != "") || ok && (e.Hint != CancelRequested || e.Name != runs.Name || e.Due != 0) {
			t.Errorf("kind %q: %+v, %v", kind, e, ok)
		}
		if e, ok := Notice(cancelled, apply(t, t0+minute, cancelled, Cancel{Key: runs.Key()})); ok {
			t.Errorf("kind %q, again: %+v", kind, e)
		}
	}
}

func TestAClockThatWasJustSetAheadExpiresNothing(t *testing.T) {
	old := create(t, func(s *Spec) { s.ExpireAfter = time.Second })
	const ahead = t0 + 99*minute
	for trusted, want := range map[Millis]error{old.Due + 1000: nil, old.Due + 1001: ErrExpired, 0: ErrExpired} {
		c := Claim{Key: old.Key(), Lane: old.Lane(), Token: "x", Until: ahead + 1, Trusted: trusted}
		if _, err := c.Apply(ahead, old, facts); !errors.Is(err, want) {
			t.Errorf("by the trusted time %+d: %v, want %v", trusted-old.Due, err, want)
		}
	}
}
