package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// Policy is the retention that a store under test must be opened with.
var Policy = task.Policy{KeepFinished: time.Minute, KeepDead: 5 * time.Minute}

// AuditKeep is how long the audit log of a store under test must be kept.
const AuditKeep = 10 * time.Minute

// start is the instant at which every case begins: any instant not near zero
// would do.
const start task.Millis = 1_800_000_000_000

// testCase is one rule of the contract and the steps that check it.
type testCase struct {
	name string
	rule string // printed when the case fails: the rule of the contract, and its reason
	run  func(f *fixture)
}

// Run checks every rule of the contract on stores that open returns: empty,
// new for each case, opened with Policy and AuditKeep. Run closes them.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	areas := []struct {
		name  string
		cases []testCase
	}{
		{"tasks", taskCases},
		{"list", listCases},
		{"ended", endedCases},
		{"upcoming", upcomingCases},
		{"lanes", laneCases},
		{"watch", watchCases},
		{"batch", batchCases},
		{"settings", settingsCases},
		{"purge", purgeCases},
		{"namespaces", namespaceCases},
		{"quota", quotaCases},
		{"due", dueCases},
		{"audit", auditCases},
		{"history", historyCases},
		{"schedules", scheduleCases},
		{"scrub", scrubCases},
		{"close", closeCases},
		{"race", raceCases},
	}
	for _, area := range areas {
		t.Run(area.name, func(t *testing.T) {
			for _, c := range area.cases {
				t.Run(c.name, func(t *testing.T) { c.check(t, open) })
			}
		})
	}
}

func (c testCase) check(t *testing.T, open func(t *testing.T) store.Store) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the rule: %s", c.rule)
		}
	})
	f := &fixture{T: t, store: open(t)}
	defer func() {
		if err := f.store.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}()
	c.run(f)
	if f.store.Standing().Err == nil && !t.Failed() {
		CheckInvariants(t, f.store, start, namespaces...)
	}
}

// fixture is a store with short methods for the cases. The methods end the case
// when a call fails as a whole.
type fixture struct {
	*testing.T
	store store.Store
	ids   int
}

// namespaces are those that cases use; one is a prefix of another.
var namespaces = []string{task.DefaultNamespace, "default2", "other"}

// spec returns a valid spec due a second after start, with a body. It makes the
// namespace if that does not exist.
func (f *fixture) spec(name string, edits ...func(*task.Spec)) task.Spec {
	f.Helper()
	f.ids++
	s := tasktest.Spec(name, start+1000, append([]func(*task.Spec){func(s *task.Spec) { s.ID = fmt.Sprintf("id-%d", f.ids) }}, edits...)...)
	if f.store.Standing().Settings.Namespace(s.Namespace) == nil {
		f.edit(settings.PutNamespace{Settings: settings.NamespaceSettings{Name: s.Namespace}})
	}
	return s
}

// Edits of a spec.
func at(due task.Millis) func(*task.Spec) {
	return func(s *task.Spec) { s.When = task.When{At: due} }
}

// kind makes the task one of a kind, with JSON arguments.
func kind(name string) func(*task.Spec) {
	return func(s *task.Spec) {
		s.Request = task.Request{Kind: name, BodyKind: task.JSONBody, Body: []byte(`{"n":1}`), BodySize: 7}
	}
}

func in(delay time.Duration) func(*task.Spec) {
	return func(s *task.Spec) { s.When = task.When{Relative: true, Delay: delay} }
}

func queue(name string) func(*task.Spec) { return func(s *task.Spec) { s.Queue = name } }

func namespace(name string) func(*task.Spec) { return func(s *task.Spec) { s.Namespace = name } }

func priority(p task.Priority) func(*task.Spec) { return func(s *task.Spec) { s.Priority = p } }

func url(u string) func(*task.Spec) { return func(s *task.Spec) { s.Request.URL = u } }

func labels(l map[string]string) func(*task.Spec) { return func(s *task.Spec) { s.Labels = l } }

func attempts(n int) func(*task.Spec) { return func(s *task.Spec) { s.Retry.MaxAttempts = n } }

func expireAfter(d time.Duration) func(*task.Spec) { return func(s *task.Spec) { s.ExpireAfter = d } }

// transit makes steps in one call.
func (f *fixture) transit(now task.Millis, steps []store.Step) []store.Reply {
	f.Helper()
	replies, err := f.store.Transit(f.Context(), now, steps)
	if err != nil || len(replies) != len(steps) {
		f.Fatalf("Transit of %d steps: %d replies, error %v", len(steps), len(replies), err)
	}
	return replies
}

// apply applies one change.
func (f *fixture) apply(now task.Millis, c task.Change) store.Reply {
	f.Helper()
	return f.batch(now, c)[0]
}

// batch applies changes in one call.
func (f *fixture) batch(now task.Millis, changes ...task.Change) []store.Reply {
	f.Helper()
	return f.transit(now, store.Changes(changes))
}

// must applies a change that must succeed, and returns its task.
func (f *fixture) must(now task.Millis, c task.Change) *task.Task {
	f.Helper()
	r := f.apply(now, c)
	if r.Err != nil {
		f.Fatalf("%T of %q: %v", c, c.Target().Name, r.Err)
	}
	return r.Task
}

// create makes a task from f.spec.
func (f *fixture) create(name string, edits ...func(*task.Spec)) *task.Task {
	f.Helper()
	return f.must(start, task.Create{Spec: f.spec(name, edits...)})
}

// get returns a task of the default namespace, which must exist.
func (f *fixture) get(name string) *task.Task {
	f.Helper()
	return f.load(tasktest.Key(name))
}

func (f *fixture) load(k task.Key) *task.Task {
	f.Helper()
	t, err := f.store.Get(f.Context(), k)
	if err != nil {
		f.Fatalf("Get %q: %v", k.Name, err)
	}
	return t
}

// list returns all tasks that match filter, page by page.
func (f *fixture) list(filter task.Filter, page task.Page) []*task.Task {
	f.Helper()
	all, err := drain(f.Context(), f.store, filter, page)
	if err != nil {
		f.Fatalf("List %+v: %v", filter, err)
	}
	return all
}

// tryClaim claims t under a token for 30 s.
func (f *fixture) tryClaim(now task.Millis, t *task.Task, token task.Token) store.Reply {
	f.Helper()
	return f.transit(now, store.Claims([]task.Claim{tasktest.Claim(t, token, now+30_000)}))[0]
}

// claim claims t, which must succeed.
func (f *fixture) claim(now task.Millis, t *task.Task, token task.Token) *task.Task {
	f.Helper()
	r := f.tryClaim(now, t, token)
	if r.Err != nil {
		f.Fatalf("Claim %q at %d: %v", t.Name, now-start, r.Err)
	}
	return r.Task
}

// trySettle ends a claim of t.
func (f *fixture) trySettle(now task.Millis, t *task.Task, token task.Token, o task.Outcome) store.Reply {
	f.Helper()
	return f.transit(now, store.Settlements([]task.Settlement{{Key: t.Key(), Token: token, Outcome: o}}))[0]
}

// settle ends a claim, which must succeed.
func (f *fixture) settle(now task.Millis, t *task.Task, token task.Token, o task.Outcome) *task.Task {
	f.Helper()
	r := f.trySettle(now, t, token, o)
	if r.Err != nil {
		f.Fatalf("Settle %q: %v", t.Name, r.Err)
	}
	return r.Task
}

// names returns the names of tasks.
func names(tasks []*task.Task) []string {
	out := make([]string, len(tasks))
	for i, t := range tasks {
		out[i] = t.Name
	}
	return out
}

// wantNames fails the case unless both are the same names in the same order.
func (f *fixture) wantNames(what string, got []string, want ...string) {
	f.Helper()
	if !slices.Equal(got, want) {
		f.Fatalf("%s: got %q, want %q", what, got, want)
	}
}

// same fails the case unless two records are equal. An empty map, slice or body
// equals a nil one, because storing may turn one into the other.
func (f *fixture) same(what string, got, want *task.Task) {
	f.Helper()
	if d := diff(want, got); d != "" {
		f.Fatalf("%s (- want, + got):\n%s", what, d)
	}
}

func diff(want, got any) string { return cmp.Diff(want, got, cmpopts.EquateEmpty()) }
