package task

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"
)

// TestTransitionsNeverWriteToTheOldRecord drives a task through random
// transitions. Goroutines share records. So each record must stay unchanged
// forever, down to its maps and slices, and each new record must be valid.
func TestTransitionsNeverWriteToTheOldRecord(t *testing.T) {
	runs := 2000
	if testing.Short() {
		runs = 300
	}
	for seed := range runs {
		if err := walk(rand.New(rand.NewPCG(uint64(seed), 7))); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// walk applies 60 random transitions, one after the other.
func walk(r *rand.Rand) error {
	var old *Task
	records := map[*Task]*Task{} // every record, and a copy from when it was made
	now := t0
	for step := range 60 {
		now += Millis(r.IntN(90_000))
		name, next, err := randomStep(r, now, old)
		if !Applied(err) {
			if next != nil {
				return fmt.Errorf("step %d, %s: a result in spite of the error %w", step, name, err)
			}
			continue
		}
		if err := checkRecord(next); err != nil {
			return fmt.Errorf("step %d, %s: %w", step, name, err)
		}
		old = next
		if records[next] == nil {
			records[next] = deepCopy(next)
		}
	}
	for record, was := range records {
		if !reflect.DeepEqual(record, was) {
			return fmt.Errorf("a later transition wrote to a record (- was, + is):\n%s", diff(was, record))
		}
	}
	return nil
}

// checkRecord returns an error if a record violates an invariant by itself.
func checkRecord(t *Task) error {
	ended := t.State == Dead || t.State.Finished()
	switch {
	case !t.State.Valid(), (t.Lease != nil) != (t.State == Running), t.CancelRequested && t.State != Running:
		return fmt.Errorf("%v with lease %v, cancel requested %v", t.State, t.Lease, t.CancelRequested)
	case ended != (t.FinishedAt != 0), ended != (t.KeepUntil != 0), ended && t.RunNow:
		return fmt.Errorf("%v, ended %d, kept until %d", t.State, t.FinishedAt, t.KeepUntil)
	case t.Reason != "" != (t.State == Dead || t.State == Cancelled || t.State == Expired):
		return fmt.Errorf("%v because of %q", t.State, t.Reason)
	case t.Attempts < 0, t.AttemptsUsed < 0, t.AttemptsUsed > t.Attempts, t.Reclaims > MaxReclaims, len(t.History) > MaxHistory:
		return fmt.Errorf("attempts %d, used %d, reclaims %d, history %d", t.Attempts, t.AttemptsUsed, t.Reclaims, len(t.History))
	case t.State.Finished() && t.Request.BodySize != 0 && !t.Whole:
		return fmt.Errorf("%v keeps a body of %d bytes", t.State, t.Request.BodySize)
	case t.Request.Body != nil && len(t.Request.Body) != t.Request.BodySize:
		return fmt.Errorf("%d bytes said to be %d", len(t.Request.Body), t.Request.BodySize)
	}
	return nil
}

// randomStep carries out one transition that may or may not be allowed.
func randomStep(r *rand.Rand, now Millis, old *Task) (string, *Task, error) {
	spec := validSpec(func(s *Spec) {
		s.ID = fmt.Sprintf("id-%d", r.Uint32())
		s.When = When{Relative: r.IntN(2) == 0, At: now, Delay: time.Duration(r.IntN(60_000)) * time.Millisecond}
		s.Labels = map[string]string{"k": "v"}
		s.Request.Headers = map[string]string{"X-A": "1"}
		s.Retry.MaxAttempts = r.IntN(4)
		s.ExpireAfter = time.Duration(r.IntN(3)) * time.Hour
	})
	key, token := spec.Key, Token("token")
	var change Change
	switch kind := r.IntN(16); kind {
	case 0:
		change = Create{Spec: spec, Idempotency: &Idempotency{Key: "k", Fingerprint: "f"}}
	case 1:
		change = Replace{Spec: spec}
	case 2, 3:
		change = Patch{
			Key: key, When: []*When{nil, {At: now + 5}}[r.IntN(2)], Body: []*Body{nil, {Kind: TextBody, Bytes: []byte("new")}}[r.IntN(2)],
			Labels: map[string]*string{"k": nil, "n": ptr("v")}, Headers: map[string]*string{"x-a": ptr("2"), "X-B": ptr("3")},
		}
	case 4:
		change = Touch{Key: key}
	case 5:
		change = Run{Key: key}
	case 6:
		change = Revive{Key: key}
	case 7:
		change = Cancel{Key: key}
	case 8, 9, 10, 11:
		lane := spec.begin(now).Lane()
		if old != nil {
			lane = old.Lane()
		}
		res, err := Claim{Key: key, Lane: lane, Token: token, Until: now + minute}.Apply(now, old, facts)
		return "claim", res.Task, err
	case 12:
		res, err := Extension{Key: key, Token: token, Until: now + minute}.Apply(now, old, facts)
		return "extend", res.Task, err
	case 13:
		if old == nil || old.State != Running {
			return "reap", nil, ErrStale
		}
		return "reap", old.Reap(now, r.IntN(2) == 0, policy).Task, nil
	default:
		o := Outcome{Verdict: Verdict(1 + r.IntN(6)), Reason: "gone", StartedAt: now, Error: "e", RetryAfter: time.Minute}
		res, err := Settlement{Key: key, Token: token, Outcome: o}.Apply(now, old, facts)
		return "settle", res.Task, err
	}
	res, err := change.Apply(now, old, facts)
	return fmt.Sprintf("%T", change), res.Task, err
}

// deepCopy is a Clone that copies the body's bytes too.
func deepCopy(t *Task) *Task {
	c := t.Clone()
	c.Request.Body = slices.Clone(t.Request.Body)
	return c
}

func TestCloneSharesNothing(t *testing.T) {
	old := claim(t, t0+minute, create(t, func(s *Spec) {
		s.Labels, s.Request.Headers = map[string]string{"k": "v"}, map[string]string{"X": "1"}
	}), "token")
	old.History, old.Idempotency = []Attempt{{Number: 1}}, &Idempotency{Key: "k"}
	c := old.Clone()
	if d := diff(old, c); d != "" {
		t.Fatalf("a clone differs:\n%s", d)
	}
	c.Labels["k"], c.Request.Headers["X"], c.History[0].Number, c.Lease.Until, c.Idempotency.Key = "x", "x", 9, 9, "x"
	if old.Labels["k"] != "v" || old.Request.Headers["X"] != "1" || old.History[0].Number != 1 || old.Lease.Until == 9 || old.Idempotency.Key != "k" {
		t.Error("writing to the clone reached the task")
	}
}

func TestWithoutBodyLeavesItsTaskUnchanged(t *testing.T) {
	old := create(t)
	bare := old.WithoutBody()
	if bare.Request.Body != nil || bare.Request.BodySize != len("body") || string(old.Request.Body) != "body" {
		t.Errorf("body %q, size %d; the original has %q", bare.Request.Body, bare.Request.BodySize, old.Request.Body)
	}
	if bare.WithoutBody() != bare {
		t.Error("a task without a body is copied")
	}
}
