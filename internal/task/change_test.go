package task

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestCreateFixesItsDelayOnce(t *testing.T) {
	got := create(t, func(s *Spec) { s.When = When{Relative: true, Delay: time.Second + time.Nanosecond} })
	if got.Due != t0+1001 || got.OriginalDue != got.Due || got.CreatedAt != t0 {
		t.Errorf("due t0+%d, originally t0+%d, created t0+%d; a delay is rounded up and counts from now", got.Due-t0, got.OriginalDue-t0, got.CreatedAt-t0)
	}
	if got.Version != 1 || got.State != Scheduled || got.Attempts != 0 {
		t.Errorf("version %d, state %v, attempts %d", got.Version, got.State, got.Attempts)
	}
	past := create(t, func(s *Spec) { s.When = When{At: t0 - minute} })
	if past.Due != t0-minute {
		t.Errorf("a past time became t0%+d: it is due now as it stands, its lateness counts from it", past.Due-t0)
	}
}

func TestCreateTakesItsSizeFromTheBody(t *testing.T) {
	got := create(t, func(s *Spec) { s.Request.BodySize = 0 })
	if got.Request.BodySize != len("body") {
		t.Errorf("size %d of the body %q: with 0 a store would keep none", got.Request.BodySize, got.Request.Body)
	}
}

func TestCreateDoesNotShareTheSpecsMaps(t *testing.T) {
	spec := validSpec(func(s *Spec) {
		s.Labels = map[string]string{"k": "v"}
		s.Request.Headers = map[string]string{"X-A": "1"}
	})
	mark := &Idempotency{Key: "k", Fingerprint: "f"}
	got := apply(t, t0, nil, Create{Spec: spec, Idempotency: mark})
	spec.Labels["k"], spec.Request.Headers["X-A"], mark.Key = "x", "x", "x"
	if got.Labels["k"] != "v" || got.Request.Headers["X-A"] != "1" || got.Idempotency.Key != "k" {
		t.Error("the caller's later writes reach the record")
	}
}

func TestCreateRecognisesItsRepeat(t *testing.T) {
	mark := func(key, request string) *Idempotency { return &Idempotency{Key: key, Fingerprint: request} }
	first := apply(t, t0, nil, Create{Spec: validSpec(), Idempotency: mark("k", "r")})
	for _, old := range []*Task{first, attempt(t, first, Outcome{Verdict: Success}), attempt(t, first, Outcome{Verdict: Refusal})} {
		r, err := Create{Spec: validSpec(withSecondID), Idempotency: mark("k", "r")}.Apply(t0+9, old, facts)
		if err != nil || r.Effect != Repeated || r.Task != old {
			t.Errorf("repeat when %v: effect %d, error %v", old.State, r.Effect, err)
		}
	}
	if _, err := (Create{Spec: validSpec(), Idempotency: mark("k", "other")}).Apply(t0, first, facts); !errors.Is(err, ErrIdempotencyReuse) {
		t.Errorf("the key with another request: %v", err)
	}
	if _, err := (Create{Spec: validSpec(), Idempotency: mark("other", "r")}).Apply(t0, first, facts); !errors.Is(err, ErrExists) {
		t.Errorf("another key: %v", err)
	}
	if _, err := (Create{Spec: validSpec(), Idempotency: mark("k", "r")}).Apply(t0, create(t), facts); !errors.Is(err, ErrExists) {
		t.Errorf("over a task made without a key: %v", err)
	}
}

func TestReplaceBeginsANewIncarnation(t *testing.T) {
	old := attempt(t, create(t, func(s *Spec) { s.Labels = map[string]string{"k": "v"} }), Outcome{Verdict: Failure})
	got := apply(t, old.Due, old, Replace{Spec: validSpec(withSecondID)})
	want := apply(t, old.Due, nil, Create{Spec: validSpec(withSecondID)})
	if d := diff(want, got); d != "" {
		t.Errorf("a replace differs from a create (- create, + replace):\n%s", d)
	}
}

func TestReplaceWaitsForTheRunningAttempt(t *testing.T) {
	waits := create(t)
	runs := claim(t, waits.Due, waits, "token")
	for _, verdict := range []Verdict{Success, Failure, Snooze, Refusal, Interrupted, Unsent} {
		got := apply(t, runs.Due, runs, Replace{Spec: validSpec(withSecondID)})
		if !got.Superseded() || got.Lease.TaskID != "id-1" || got.ID != "id-2" {
			t.Fatalf("record %s with lease of %s", got.ID, got.Lease.TaskID)
		}
		got = settle(t, runs.Due+7, got, Outcome{Verdict: verdict, Reason: "gone"})
		want := apply(t, runs.Due, nil, Create{Spec: validSpec(withSecondID)})
		if d := diff(want, got); d != "" {
			t.Errorf("verdict %d of the old attempt touched the new task (- want, + got):\n%s", verdict, d)
		}
	}
}

func TestReplaceForgetsACancelOfTheOldTask(t *testing.T) {
	waits := create(t)
	got := apply(t, waits.Due, claim(t, waits.Due, waits, "token"), Cancel{Key: waits.Key()})
	got = apply(t, waits.Due, got, Replace{Spec: validSpec(withSecondID)})
	if got = settle(t, waits.Due, got, Outcome{Verdict: Failure}); got.State != Scheduled {
		t.Errorf("the new task is %v", got.State)
	}
}

func TestPreconditions(t *testing.T) {
	old := apply(t, t0, create(t), Run{Key: validSpec().Key})
	if old.ETag() != "id-1.2" {
		t.Fatalf("entity tag %q", old.ETag())
	}
	for _, c := range []struct {
		name string
		If   Precondition
		old  *Task
		ok   bool
	}{
		{"none", Precondition{}, old, true},
		{"none, absent", Precondition{}, nil, true},
		{"match", Precondition{IfMatch: []string{"x.1", "id-1.2"}}, old, true},
		{"any", Precondition{IfMatch: []string{"*"}}, old, true},
		{"older version", Precondition{IfMatch: []string{"id-1.1"}}, old, false},
		{"another incarnation", Precondition{IfMatch: []string{"id-2.2"}}, old, false},
		{"match, absent", Precondition{IfMatch: []string{"id-1.2"}}, nil, false},
		{"any, absent", Precondition{IfMatch: []string{"*"}}, nil, false},
		{"if none", Precondition{IfNoneMatch: true}, old, false},
		{"if none, absent", Precondition{IfNoneMatch: true}, nil, true},
	} {
		_, err := Replace{Spec: validSpec(withSecondID), If: c.If}.Apply(t0, c.old, facts)
		if c.ok != (err == nil) || !c.ok && !errors.Is(err, ErrPrecondition) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestPreconditionComesBeforeState(t *testing.T) {
	finished, stale := oneOfEachState(t)["delivered"], Precondition{IfMatch: []string{"other.1"}}
	key := finished.Key()
	for _, c := range []Change{Patch{Key: key, If: stale}, Touch{Key: key, If: stale}, Run{Key: key, If: stale}, Revive{Key: key, If: stale}, Cancel{Key: key, If: stale}} {
		if _, err := c.Apply(t0, finished, facts); !errors.Is(err, ErrPrecondition) {
			t.Errorf("%T: %v", c, err)
		}
	}
}

func TestAttemptsDoNotChangeTheVersion(t *testing.T) {
	old := create(t)
	got := attempt(t, attempt(t, old, Outcome{Verdict: Failure}), Outcome{Verdict: Success})
	if got.ETag() != old.ETag() {
		t.Errorf("entity tag %s became %s", old.ETag(), got.ETag())
	}
}

func TestPatchMerges(t *testing.T) {
	old := create(t, func(s *Spec) {
		s.Labels = map[string]string{"keep": "1", "drop": "2", "set": "3"}
		s.Request.Headers = map[string]string{"X-Keep": "1", "X-Drop": "2", "X-Set": "3"}
	})
	got := apply(t, t0+5, old, Patch{
		Key:      old.Key(),
		When:     &When{Relative: true, Delay: 2 * time.Minute},
		Queue:    ptr("mail"),
		Priority: ptr(High),
		Labels:   map[string]*string{"drop": nil, "set": ptr("x"), "new": ptr("y"), "never": nil},
		URL:      ptr("http://Elsewhere.example:8080/x"),
		Method:   ptr("PUT"),
		Headers:  map[string]*string{"x-drop": nil, "x-set": ptr("x"), "X-New": ptr("y")},
		Body:     &Body{Kind: JSONBody, Bytes: []byte(`{}`)},
		Timeout:  ptr(time.Second), ExpireAfter: ptr(time.Hour),
		MaxAttempts: ptr(3), MinBackoff: ptr(2 * time.Second), MaxBackoff: ptr(time.Minute), MaxAge: ptr(time.Duration(0)),
	})
	want := old.Clone()
	want.Version = 2
	want.Delay, want.Due, want.OriginalDue = 2*time.Minute, t0+5+2*minute, t0+5+2*minute
	want.Queue, want.QueuedAt, want.Priority = "mail", t0+5, High
	want.Labels = map[string]string{"keep": "1", "set": "x", "new": "y"}
	want.Request = Request{
		URL: "http://Elsewhere.example:8080/x", Method: "PUT", Destination: "elsewhere.example:8080",
		Headers:  map[string]string{"X-Keep": "1", "x-set": "x", "X-New": "y"},
		BodyKind: JSONBody, BodySize: 2, Body: []byte(`{}`),
	}
	want.Timeout, want.ExpireAfter = time.Second, time.Hour
	want.Retry = Retry{MaxAttempts: 3, MinBackoff: 2 * time.Second, MaxBackoff: time.Minute}
	if d := diff(want, got); d != "" {
		t.Errorf("(- want, + got):\n%s", d)
	}
}

func TestAShiftMovesTheDueTimeAndKeepsTheDelay(t *testing.T) {
	old := create(t)
	for _, by := range []time.Duration{time.Hour, -time.Millisecond} {
		got, err := (Patch{Key: old.Key(), Shift: by}).Apply(t0, old, Facts{})
		if err != nil || got.Task.Due != old.OriginalDue.Add(by) || got.Task.OriginalDue != got.Task.Due || !got.Task.Relative || got.Task.Delay != time.Minute {
			t.Errorf("by %v: %+v, %v", by, got.Task, err)
		}
	}
	if got, err := (Patch{Key: old.Key(), Shift: -MaxDelay}).Apply(t0, old, Facts{}); err != nil || got.Task.Due != 1 {
		t.Errorf("before 1970: %+v, %v", got.Task, err)
	}
	far := old.Clone()
	far.OriginalDue = t0.Add(MaxDelay)
	var field *FieldError
	if _, err := (Patch{Key: old.Key(), Shift: MaxDelay}).Apply(t0, far, Facts{}); !errors.As(err, &field) || field.Path != "by" {
		t.Errorf("in 200 years: %v", err)
	}
	running := old.Clone()
	running.State = Running
	var state *StateError
	if _, err := (Patch{Key: old.Key(), Shift: 1}).Apply(t0, running, Facts{}); !errors.As(err, &state) {
		t.Errorf("a running task: %v", err)
	}
	if _, err := (Patch{Key: old.Key(), Shift: 1, Only: &Filter{Queue: "other"}}).Apply(t0, old, Facts{}); !errors.Is(err, ErrPrecondition) {
		t.Errorf("a task that no longer matches: %v", err)
	}
}

func TestEmptyPatchChangesTheVersionAlone(t *testing.T) {
	old := create(t).WithoutBody()
	got := apply(t, t0+5, old, Patch{Key: old.Key()})
	want := old.Clone()
	want.Version++
	if d := diff(want, got); d != "" {
		t.Errorf("(- want, + got):\n%s", d)
	}
}

func TestPatchRefusesAnInvalidMerge(t *testing.T) {
	old := create(t)
	for path, c := range map[string]Patch{
		"retry.max_backoff": {MinBackoff: ptr(2 * time.Hour)}, // longer than the stored max
		"http.url":          {URL: ptr("ftp://x")},
		"http.headers.Host": {Headers: map[string]*string{"Host": ptr("x")}},
		"queue":             {Queue: ptr("")},
	} {
		c.Key = old.Key()
		r, err := c.Apply(t0, old, facts)
		if field, ok := errors.AsType[*FieldError](err); !ok || field.Path != path || r.Task != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestPatchChangesTheArgumentsOfAKindAndNothingOfARequest(t *testing.T) {
	args, text := &Body{Kind: JSONBody, Bytes: []byte(`{"order":7}`)}, &Body{Kind: TextBody, Bytes: []byte("x")}
	calls := create(t, calling("close-order"))
	got := apply(t, t0, calls, Patch{Key: calls.Key(), Args: args})
	want := calls.Clone()
	want.Version, want.Request.Body, want.Request.BodySize = 2, args.Bytes, len(args.Bytes)
	if d := diff(want, got); d != "" {
		t.Errorf("(- want, + got):\n%s", d)
	}
	none := apply(t, t0, calls, Patch{Key: calls.Key(), Args: &Body{}}).Request
	if none.BodyKind != NoBody || none.BodySize != 0 || none.Body != nil {
		t.Errorf("without arguments: %+v", none)
	}
	for _, c := range []struct {
		old  *Task
		path string
		Patch
	}{
		{create(t), "work", Patch{Args: args}},
		{calls, "http", Patch{Body: args}},
		{calls, "http", Patch{URL: ptr("http://example.com/")}},
		{calls, "http", Patch{Method: ptr("GET")}},
		{calls, "http", Patch{Headers: map[string]*string{"x-a": nil}}},
		{calls, "work.args", Patch{Args: text}},
	} {
		c.Key = c.old.Key()
		_, err := c.Apply(t0, c.old, facts)
		if field, ok := errors.AsType[*FieldError](err); !ok || field.Path != c.path {
			t.Errorf("%s: %v", c.path, err)
		}
	}
}

func TestPatchOfARunningTaskCountsFromTheNextAttempt(t *testing.T) {
	runs := oneOfEachState(t)["running"]
	got := apply(t, runs.Due, runs, Patch{Key: runs.Key(), MaxAttempts: ptr(1), Queue: ptr("mail")})
	if *got.Lease != *runs.Lease {
		t.Errorf("the lease changed: %+v", got.Lease)
	}
	if got = settle(t, runs.Due, got, Outcome{Verdict: Failure}); got.State != Dead || got.Reason != ReasonAttempts {
		t.Errorf("after the first failure with max_attempts 1: %v, %s", got.State, got.Reason)
	}
}

func TestTouchRestartsTheDelay(t *testing.T) {
	old := attempt(t, create(t), Outcome{Verdict: Failure})
	got := apply(t, old.Due, old, Touch{Key: old.Key()})
	if got.Due != old.Due+minute || got.OriginalDue != got.Due {
		t.Errorf("due %d after the touch", got.Due-old.Due)
	}
	if got.AttemptsUsed != 0 || got.FirstAttemptAt != 0 || got.Attempts != 1 || len(got.History) != 1 {
		t.Errorf("used %d, first attempt at %d, attempts %d, %d in the history: attempts are forgotten, numbers and history are not", got.AttemptsUsed, got.FirstAttemptAt, got.Attempts, len(got.History))
	}
}

func TestRunIsDueNowAndSetsRunNowUntilItsAttempt(t *testing.T) {
	old := create(t)
	got := apply(t, t0+3, old, Run{Key: old.Key()})
	if got.Due != t0+3 || got.OriginalDue != got.Due || !got.RunNow {
		t.Errorf("due t0+%d, urgent %v", got.Due-t0, got.RunNow)
	}
	runs := claim(t, got.Due, got, "token")
	if unsent := settle(t, got.Due, runs, Outcome{Verdict: Unsent}); !unsent.RunNow {
		t.Error("an attempt that was not sent used up the urgency")
	}
	if failed := settle(t, got.Due, runs, Outcome{Verdict: Failure}); failed.RunNow {
		t.Error("the retry is urgent too")
	}
	if later := apply(t, t0, got, Patch{Key: got.Key(), When: &When{At: t0 + minute}}); later.RunNow {
		t.Error("a task moved to another time is still urgent")
	}
}

func TestReviveSchedulesADeadTaskAgain(t *testing.T) {
	dead := oneOfEachState(t)["dead"]
	got := apply(t, dead.Due+9, dead, Revive{Key: dead.Key()})
	if got.State != Scheduled || got.Due != dead.Due+9 || got.ID != dead.ID || got.Version != dead.Version+1 {
		t.Errorf("%v, due %+d, id %s, version %d", got.State, got.Due-dead.Due, got.ID, got.Version)
	}
	if got.AttemptsUsed != 0 || got.Reclaims != 0 || got.FirstAttemptAt != 0 || got.Reason != "" || got.KeepUntil != 0 || got.FinishedAt != 0 {
		t.Errorf("something of its death is left: %+v", got)
	}
	if got.Request.BodySize != len("body") || len(got.History) != 1 || got.Attempts != 1 {
		t.Errorf("body of %d, %d in the history, attempts %d: a dead task keeps everything", got.Request.BodySize, len(got.History), got.Attempts)
	}
}

func TestBulkChangesSkipTasksThatNoLongerMatch(t *testing.T) {
	waits, dead := create(t), oneOfEachState(t)["dead"]
	only := &Filter{Queue: "another"}
	for old, c := range map[*Task]Change{waits: Cancel{Key: waits.Key(), Only: only}, dead: Revive{Key: dead.Key(), Only: only}} {
		if _, err := c.Apply(t0, old, facts); !errors.Is(err, ErrPrecondition) {
			t.Errorf("%T: %v", c, err)
		}
	}
}

func TestCancelWhileRunningAllowsNoRetry(t *testing.T) {
	runs := oneOfEachState(t)["running"]
	asked := apply(t, runs.Due, runs, Cancel{Key: runs.Key()})
	if !asked.CancelRequested || asked.State != Running {
		t.Fatalf("%v, cancel requested: %v", asked.State, asked.CancelRequested)
	}
	for verdict, want := range map[Verdict]State{
		Success: Delivered, Failure: Cancelled, Snooze: Cancelled, Refusal: Cancelled, Interrupted: Cancelled, Unsent: Cancelled,
	} {
		got := settle(t, runs.Due+5, asked, Outcome{Verdict: verdict, Reason: "gone"})
		if got.State != want || got.CancelRequested || got.Lease != nil {
			t.Errorf("verdict %d: %v, cancel requested %v", verdict, got.State, got.CancelRequested)
		}
	}
	if got := asked.Reap(runs.Due+5, true, policy).Task; got.State != Cancelled {
		t.Errorf("reaped: %v", got.State)
	}
}

func TestAPurgeOfARunningTaskIsTheReasonOfItsEnd(t *testing.T) {
	for _, state := range []string{"running", "superseded"} {
		runs := oneOfEachState(t)[state]
		purged := apply(t, runs.Due, runs, Cancel{Key: runs.Key(), Reason: ReasonPurged})
		purged = apply(t, runs.Due, purged, Cancel{Key: runs.Key()}) // too late to be the reason
		if got := settle(t, runs.Due+5, purged, Outcome{Verdict: Failure}); got.State != Cancelled || got.Reason != ReasonPurged {
			t.Errorf("%s: %v, reason %q", state, got.State, got.Reason)
		}
		if got := purged.Reap(runs.Due+5, true, policy).Task; got.Reason != ReasonPurged {
			t.Errorf("%s: reaped, with reason %q", state, got.Reason)
		}
	}
	runs := oneOfEachState(t)["running"]
	purged := apply(t, runs.Due, runs, Cancel{Key: runs.Key(), Reason: ReasonPurged})
	if got := settle(t, runs.Due+5, purged, Outcome{Verdict: Success}); got.State != Delivered || got.Reason != "" {
		t.Errorf("%v, reason %q: it was delivered", got.State, got.Reason)
	}
	asked := apply(t, runs.Due, runs, Cancel{Key: runs.Key()})
	asked = apply(t, runs.Due, asked, Cancel{Key: runs.Key(), Reason: ReasonPurged})
	if got := settle(t, runs.Due+5, asked, Outcome{Verdict: Failure}); got.Reason != ReasonCancelled {
		t.Errorf("reason %q: its client took it back first", got.Reason)
	}
}

// A task that gave way to others in quarantine stays there, as its attempt has
// shown nothing yet.
func TestATaskThatGaveWayStaysInQuarantineBehindTheOthers(t *testing.T) {
	runs := oneOfEachState(t)["running"].Clone()
	runs.Reclaims = QuarantineAfter
	got := settle(t, runs.Due+60_000, runs, Outcome{Verdict: Interrupted, GaveWay: true})
	if got.State != Scheduled || got.Lane().Priority != Quarantine || got.Reclaims != QuarantineAfter || got.AttemptsUsed != runs.AttemptsUsed || got.Due != runs.Due+60_000 {
		t.Errorf("%+v", got)
	}
	if got := settle(t, runs.Due+60_000, runs, Outcome{Verdict: Interrupted}); got.Reclaims != 0 || got.Due != runs.Due {
		t.Errorf("interrupted by a stop: %+v", got)
	}
}

func TestCancelOfAReplacementEndsIt(t *testing.T) {
	superseded := oneOfEachState(t)["superseded"]
	asked := apply(t, superseded.Due, superseded, Cancel{Key: superseded.Key()})
	got := settle(t, superseded.Due, asked, Outcome{Verdict: Success})
	if got.State != Cancelled || got.ID != "id-2" || len(got.History) != 0 {
		t.Errorf("%v of %s with %d attempts: the old one's success is not the new one's", got.State, got.ID, len(got.History))
	}
}

func TestAFinishedTaskKeepsItsAttemptsAndNoBody(t *testing.T) {
	old := attempt(t, attempt(t, create(t), Outcome{Verdict: Failure, Status: 500, Reply: "500"}), Outcome{Verdict: Failure, Status: 502, Reply: "502"})
	end := old.Due
	for name, got := range map[string]*Task{
		"delivered": attempt(t, old, Outcome{Verdict: Success, Status: 204}),
		"cancelled": apply(t, end, old, Cancel{Key: old.Key()}),
	} {
		var kept []string
		for _, a := range got.History {
			kept = append(kept, fmt.Sprint(a.Number, a.Status, a.Reply))
		}
		if want := map[string]string{"delivered": "[1 500 2 502 3 204]", "cancelled": "[1 500 2 502502]"}[name]; fmt.Sprint(kept) != want {
			t.Errorf("%s: kept %v, want %s", name, kept, want)
		}
		if got.Request.BodySize != 0 || got.Request.Body != nil || got.Request.BodyKind != NoBody {
			t.Errorf("%s: body of %d bytes", name, got.Request.BodySize)
		}
		if got.FinishedAt != end || got.KeepUntil != end.Add(policy.KeepFinished) {
			t.Errorf("%s: ended %+d, kept until %+d", name, got.FinishedAt-end, got.KeepUntil-end)
		}
	}
}

func TestARepeatIsFoundWithoutTheRequest(t *testing.T) {
	made := apply(t, t0, nil, Create{Spec: validSpec(), Idempotency: &Idempotency{Key: "k", Fingerprint: "f"}})
	for _, c := range []struct {
		old  *Task
		idem Idempotency
		want error
	}{
		{nil, Idempotency{Key: "k", Fingerprint: "f"}, ErrNotFound},
		{made, Idempotency{Key: "k", Fingerprint: "f"}, nil},
		{made, Idempotency{Key: "k2", Fingerprint: "f"}, ErrNotFound},
		{made, Idempotency{Key: "k", Fingerprint: "g"}, ErrIdempotencyReuse},
	} {
		r, err := Repeat{Key: made.Key(), Idempotency: &c.idem}.Apply(t0, c.old, facts)
		if !errors.Is(err, c.want) || err == nil && (r.Task != made || r.Effect != Repeated) {
			t.Errorf("%+v: %+v, %v, want %v", c.idem, r, err, c.want)
		}
	}
}

func TestARecordHasTheTokensThatMadeItAndChangedItLast(t *testing.T) {
	made := create(t)
	Sign(t0, "shop", Create{}, nil, Result{Task: made})
	changed := apply(t, t0+1, made, Run{Key: made.Key()})
	Sign(t0+1, "ops", Run{}, made, Result{Task: changed})
	Sign(t0+2, "late", Run{}, changed, Result{Task: changed}) // nothing was changed
	Sign(t0+3, "maintenance", CheckSchedule{}, made, Result{Task: changed})
	if changed.CreatedBy != "shop" || changed.ChangedBy != "ops" || changed.ChangedAt != t0+1 || changed.ChangedAction != "task.run" || made.ChangedBy != "" {
		t.Errorf("%+v", changed)
	}
	other := apply(t, t0+4, changed, Replace{Spec: validSpec(withSecondID)})
	Sign(t0+4, "ops", Replace{}, changed, Result{Task: other})
	if other.CreatedBy != "ops" || other.ChangedBy != "" || other.ChangedAction != "" {
		t.Errorf("after a replace: %+v", other)
	}
}

func TestATaskWhoseQueueKeepsBodiesCanBeSentAgain(t *testing.T) {
	keeps := facts
	keeps.Policy.KeepBodies = true
	made := create(t)
	runs := claim(t, made.Due, made, "x")
	r, err := Settlement{Key: runs.Key(), Token: "x", Outcome: Outcome{Verdict: Success}}.Apply(made.Due, runs, keeps)
	if err != nil || r.Task.State != Delivered || !r.Task.Whole || r.Task.Request.BodySize != made.Request.BodySize || r.Task.Request.BodyKind != TextBody {
		t.Fatalf("%+v, %v", r.Task, err)
	}
	again := apply(t, made.Due+5, r.Task, Revive{Key: made.Key()})
	if again.ID != made.ID || again.State != Scheduled || again.Due != made.Due+5 || again.Whole {
		t.Errorf("%+v", again)
	}
	if ended := attempt(t, again, Outcome{Verdict: Success}); ended.Whole || ended.Request.BodySize != 0 || ended.Attempts != 2 {
		t.Errorf("the queue keeps no bodies any more: %+v", ended)
	}
}
