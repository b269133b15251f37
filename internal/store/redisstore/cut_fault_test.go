package redisstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
	"github.com/foliot/foliot/internal/tasktest"
)

// began is the time at which tests with an artificial clock begin.
const began task.Millis = 1_800_000_000_000

// specOf returns a spec with an on_dead URL.
func specOf(name string, due task.Millis) task.Spec {
	return tasktest.Spec(name, due, func(s *task.Spec) { s.OnDead = "https://dead.example/" })
}

// testCall is one call to a store, and its result.
type testCall struct {
	name string
	do   func(ctx context.Context, s *Store) (any, error)
}

// everyCall returns calls of every kind, to run one after another.
func everyCall(t *testing.T) []testCall {
	applied := func(now task.Millis, changes ...task.Change) func(context.Context, *Store) (any, error) {
		return func(ctx context.Context, s *Store) (any, error) { return s.Transit(ctx, now, store.Changes(changes)) }
	}
	claimed := func(name string, token task.Token) func(context.Context, *Store) (any, error) {
		return func(ctx context.Context, s *Store) (any, error) {
			t, err := s.Get(ctx, tasktest.Key(name))
			if err != nil {
				return nil, err
			}
			return s.Transit(ctx, began, store.Claims([]task.Claim{tasktest.Claim(t, token, began+15_000)}))
		}
	}
	settled := func(name string, token task.Token, v task.Verdict) func(context.Context, *Store) (any, error) {
		return func(ctx context.Context, s *Store) (any, error) {
			return s.Transit(ctx, began+100, store.Settlements([]task.Settlement{{Key: tasktest.Key(name), Token: token, Outcome: task.Outcome{Verdict: v, Reason: "gone"}}}))
		}
	}
	var many []task.Change
	for i := range 40 {
		many = append(many, task.Create{Spec: specOf(fmt.Sprint("m", i), began)})
	}
	timeout := task.DefaultSpec().Timeout * 2
	idem := &task.Idempotency{Key: strings.Repeat("k", 64), Fingerprint: "f"}
	moved := specOf("b", began+50_000)
	moved.ID = "id-b2"
	fired := func(now task.Millis, names ...string) func(context.Context, *Store) (any, error) {
		return func(ctx context.Context, s *Store) (any, error) {
			var fires []task.Fire
			for _, name := range names {
				fires = append(fires, task.Fire{Key: task.ScheduleKey(task.DefaultNamespace, name)})
			}
			return s.Transit(ctx, now, store.Fires(fires))
		}
	}
	first := task.OccurrenceName("waits", began+1000)
	return []testCall{
		{"create", applied(began, task.Create{Spec: specOf("a", began)}, task.Create{Spec: specOf("b", began)}, task.Create{Spec: specOf("c", began)})},
		{"create many", applied(began, many...)},
		{"create with an Idempotency-Key", applied(began, task.Create{Spec: specOf("k", began), Idempotency: idem})},
		{"create with a used Idempotency-Key", applied(began, task.Create{Spec: specOf("l", began), Idempotency: idem})},
		{"patch", applied(began, task.Patch{Key: tasktest.Key("a"), Timeout: &timeout, Body: &task.Body{Kind: task.TextBody, Bytes: []byte("another")}})},
		{"replace", applied(began, task.Replace{Spec: moved})},
		{"touch", applied(began, task.Touch{Key: tasktest.Key("m1")})},
		{"run", applied(began, task.Run{Key: tasktest.Key("m2")})},
		{"claim", claimed("a", "1")},
		{"claim another", claimed("c", "2")},
		{"extend", func(ctx context.Context, s *Store) (any, error) {
			return s.Transit(ctx, began, store.Extensions([]task.Extension{{Key: tasktest.Key("a"), Token: "1", Until: began + 20_000}, {Key: tasktest.Key("c"), Token: "2", Until: began + 1_000}}))
		}},
		{"settle", settled("a", "1", task.Success)},
		{"claim what is refused", claimed("k", "3")},
		{"settle to death, with an on_dead task", settled("k", "3", task.Refusal)},
		{"cancel", applied(began, task.Cancel{Key: tasktest.Key("b")}, task.Cancel{Key: tasktest.Key("m3")})},
		{"reap", func(ctx context.Context, s *Store) (any, error) {
			_, err := s.Reap(ctx, began+2_000, 10)
			return nil, err
		}},
		{"make schedules", applied(began, eachSecond(t, "all"), eachSecond(t, "waits", recurrence.BufferOne))},
		{"fire them", fired(began+2_000, "all", "waits")},
		{"fire what else is due", fired(began+2_000, "all", "waits")},
		{"fire what is due no more", fired(began+2_000, "all", "waits")},
		{"end what is waited for", applied(began+2_500, task.Cancel{Key: tasktest.Key(first)})},
		{"fire what was freed", fired(began+2_500, "waits")},
		{"pause", applied(began+2_500, task.PauseSchedule{Key: task.ScheduleKey(task.DefaultNamespace, "all")})},
		{"look at one", applied(began+2_500, task.CheckSchedule{Key: task.ScheduleKey(task.DefaultNamespace, "waits")})},
		{"remove", applied(began+2_600, task.RemoveSchedule{Key: task.ScheduleKey(task.DefaultNamespace, "waits")})},
		{"look before the audit log is swept, too", func(_ context.Context, s *Store) (any, error) { return account(t, s), nil }},
		{"sweep", func(ctx context.Context, s *Store) (any, error) {
			_, err := s.Sweep(ctx, began+365*86_400_000, 10_000)
			return nil, err
		}},
		{"configure", func(ctx context.Context, s *Store) (any, error) {
			return s.Configure(ctx, began, []settings.Edit{settings.PauseQueue{Namespace: task.DefaultNamespace, Name: "q", Paused: true}})
		}},
	}
}

// account returns everything that a store shows: its replies, tasks, counts and
// audit log.
func account(t *testing.T, s *Store) []string {
	t.Helper()
	l, err := s.List(t.Context(), task.Filter{Namespace: task.DefaultNamespace}, task.Page{Limit: 1000, Bodies: true})
	fatal.If(t, err)
	schedules, err := s.List(t.Context(), task.Filter{Namespace: task.DefaultNamespace, Queue: task.ScheduleQueue}, task.Page{Limit: 1000, Bodies: true})
	fatal.If(t, err)
	var lines []string
	for _, one := range append(schedules.Tasks, l.Tasks...) {
		lines = append(lines, shownAs(t, one))
	}
	counts, err := s.Counts(t.Context())
	fatal.If(t, err)
	lines = append(lines, fmt.Sprint(counts))
	page, err := s.Audit(t.Context(), settings.AuditFilter{}, 0, 1000)
	fatal.If(t, err)
	for i := range page.Entries {
		page.Entries[i].Seq = 0
		lines = append(lines, shownAs(t, page.Entries[i]))
	}
	slices.Sort(lines)
	return lines
}

func errorsOf(said any) (errs []error) {
	switch said := said.(type) {
	case []store.Reply:
		for _, r := range said {
			errs = append(errs, r.Err)
		}
	case []error:
		return said
	}
	return errs
}

func shownAs(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	fatal.If(t, err)
	return string(data)
}

// runCalls makes the calls, with a fault during each, and returns the account.
func runCalls(t *testing.T, s *Store, calls []testCall, fault func(i int), after func(i int)) (lines []string) {
	t.Helper()
	for i, d := range calls {
		fault(i)
		said, err := d.do(t.Context(), s)
		for tries := 0; err != nil && tries < 5; tries++ {
			said, err = d.do(t.Context(), s)
		}
		if err != nil {
			t.Fatalf("%s: %v", d.name, err)
		}
		after(i)
		lines = append(lines, fmt.Sprintf("%s: %s %v", d.name, shownAs(t, said), errorsOf(said)))
	}
	return append(lines, account(t, s)...)
}

// Whichever reply is cut, and at whichever byte: the call is applied once,
// and its caller learns that.
func TestACallWhoseReplyWasCutIsAppliedOnce(t *testing.T) {
	long(t)
	server := redistest.New(t)
	proxy := redistest.NewProxy(t, server.Addr)
	calls := everyCall(t)
	whole := func(fault, after func(int)) []string {
		empty(t, server.Addr)
		s := openAt(t, proxy.Addr)
		defer func() { _ = s.Close() }()
		lines := runCalls(t, s, calls, fault, after)
		checkInvariants(t, s)
		return lines
	}
	sizes, before := make([]int, len(calls)), 0
	want := whole(func(int) { before = proxy.Replied() }, func(i int) { sizes[i] = proxy.Replied() - before })
	parts := 6
	if !testing.Short() {
		parts = 60
	}
	for part := range parts + 1 {
		got := whole(func(i int) { proxy.CutReplyAfter(max(sizes[i]-1, 0) * part / parts) }, func(int) { proxy.CutReplyAfter(-1) })
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				t.Fatalf("cut after %d/%d of each reply, line %d:\n%q\nwithout a cut:\n%q", part, parts, i, got[min(i, len(got)-1)], want[min(i, len(want)-1)])
			}
		}
	}
}
