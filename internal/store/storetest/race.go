package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
	"github.com/foliot/foliot/internal/tasktest"
)

// crowd is the number of goroutines in each of these cases.
func crowd() int { return quick.Of(64, 16) }

// raceCases are most useful under the race detector. Without it they still
// count the winners.
var raceCases = []testCase{
	{
		"a name is created once",
		"Of many creates of one name at the same time one succeeds; with one idempotency key all get the same task.",
		func(f *fixture) {
			specs := make([]task.Spec, crowd())
			for i := range specs {
				specs[i] = f.spec("a")
			}
			f.winners(1, task.ErrExists, func(i int) error { return f.one(task.Create{Spec: specs[i]}).Err })
			for i := range specs {
				specs[i] = f.spec("b")
			}
			var repeated atomic.Int64
			f.winners(crowd(), nil, func(i int) error {
				r := f.one(task.Create{Spec: specs[i], Idempotency: idem("k", "r")})
				if r.Effect == task.Repeated {
					repeated.Add(1)
				}
				return r.Err
			})
			if repeated.Load() != int64(crowd()-1) {
				f.Errorf("%d repeats with a key", repeated.Load())
			}
		},
	},
	{
		"an idempotency key makes one task",
		"Of many creates with one key and different names one succeeds, the others are ErrIdempotencyReuse.",
		func(f *fixture) {
			specs := make([]task.Spec, crowd())
			for i := range specs {
				specs[i] = f.spec(numbered(i))
			}
			f.winners(1, task.ErrIdempotencyReuse, func(i int) error {
				return f.one(task.Create{Spec: specs[i], Idempotency: idem("k", "r")}).Err
			})
			if n := len(f.list(ns(), task.Page{Limit: 100})); n != 1 {
				f.Errorf("%d tasks are there", n)
			}
		},
	},
	{
		"of many first tokens one is made",
		"Callers without a token may make the first one. Of many that do so at once one succeeds, the others are ErrSecured.",
		func(f *fixture) {
			f.winners(1, settings.ErrSecured, func(int) error {
				_, hash := settings.MintToken()
				return f.oneEdit(settings.AddToken{Namespace: settings.AllNamespaces, Scope: settings.ScopeAdmin, Hash: hash, First: true})
			})
			if n := len(f.store.Standing().Settings.List(settings.TokenKind, "")); n != 1 {
				f.Errorf("%d first tokens are kept", n)
			}
		},
	},
	{
		"one of the tokens that manage the server is left",
		"Of many revokes at the same time, each of another token that manages the server, all succeed but one, which is ErrLastToken.",
		func(f *fixture) {
			made := make([]settings.Edit, crowd())
			for i := range made {
				_, hash := settings.MintToken()
				made[i] = settings.AddToken{Namespace: settings.AllNamespaces, Scope: settings.ScopeAdmin, Hash: hash}
			}
			f.edits(made...)
			f.winners(len(made)-1, settings.ErrLastToken, func(i int) error {
				return f.oneEdit(settings.RevokeToken{Namespace: settings.AllNamespaces, ID: made[i].Target().Name})
			})
			if !f.store.Standing().Settings.Managed(start) {
				f.Errorf("no token manages the server")
			}
		},
	},
	{
		"of edits to one version one succeeds",
		"A precondition is checked in the step that makes the edit: of many that name the same ETag one changes something.",
		func(f *fixture) {
			f.edit(settings.PutQueue{Queue: queueOf("mail")})
			tag := f.store.Standing().Settings.Queue(task.DefaultNamespace, "mail").ETag()
			f.winners(1, task.ErrPrecondition, func(i int) error {
				return f.oneEdit(settings.PutQueue{
					Queue: queueOf("mail", func(q *settings.QueueSettings) { q.Concurrency = 1 + i }), If: task.Precondition{IfMatch: []string{tag}},
				})
			})
			if q := f.store.Standing().Settings.Queue(task.DefaultNamespace, "mail"); q.Version != 2 {
				f.Errorf("the version is %d", q.Version)
			}
		},
	},
	{
		"a quota is exact however many ask at once",
		"Of many creates at the same time as many succeed as the quota leaves room for; the others are *QuotaError and leave nothing.",
		func(f *fixture) {
			room := crowd() / 3
			f.quota(settings.NamespaceSettings{MaxPending: int64(room)})
			specs := make([]task.Spec, crowd())
			for i := range specs {
				specs[i] = f.spec(numbered(i))
			}
			refused := errors.New("by the quota")
			f.winners(room, refused, func(i int) error {
				err := f.one(task.Create{Spec: specs[i]}).Err
				if full(err, task.QuotaPending) {
					return refused
				}
				return err
			})
			if n := len(f.list(ns(), task.Page{Limit: 100})); n != room {
				f.Errorf("%d are there, the quota is %d", n, room)
			}
		},
	},
	{
		"a task is claimed once, and not after a cancel's reply",
		"However many ask at the same time, one token gets the lease, and it alone settles. Updated: no claim succeeds after this reply, and none has. Accepted: one has.",
		func(f *fixture) {
			const tasks = 60
			var cancelled [tasks]atomic.Bool // the reply Updated has arrived
			var claimed, accepted [tasks]atomic.Int64
			made := make([]*task.Task, tasks)
			for i := range made {
				made[i] = f.create(fmt.Sprintf("t%02d", i), at(start))
			}
			f.together(func(who int) {
				r := rand.New(rand.NewPCG(1, uint64(who)))
				for _, i := range r.Perm(tasks) {
					if r.IntN(3) > 0 {
						over := cancelled[i].Load()
						c := tasktest.Claim(made[i], task.Token(fmt.Sprint(who)), start+60_000)
						replies, err := f.store.Transit(f.Context(), start, store.Claims([]task.Claim{c}))
						if err != nil {
							f.Errorf("Claim: %v", err)
							return
						}
						won := replies[0].Err == nil
						if won {
							claimed[i].Add(1)
							if over {
								f.Errorf("task %d was claimed after its cancel was answered with Updated", i)
							}
						}
						if !won || i%2 == 0 { // some stay claimed, so that cancels are accepted
							s := task.Settlement{Key: c.Key, Token: c.Token, Outcome: task.Outcome{Verdict: task.Success}}
							ends, err := f.store.Transit(f.Context(), start, store.Settlements([]task.Settlement{s}))
							if err != nil || won && ends[0].Err != nil || !won && !errors.Is(ends[0].Err, task.ErrStale) {
								f.Errorf("task %d, claimed by this token: %v, its settlement: %+v, %v", i, won, ends, err)
							}
						}
						continue
					}
					switch reply := f.one(task.Cancel{Key: made[i].Key()}); {
					case i%2 == 0 && isStateError(reply.Err): // it was delivered
					case reply.Err != nil:
						f.Errorf("cancel: %v", reply.Err)
					case reply.Effect == task.Updated, reply.Already:
						cancelled[i].Store(true)
					default:
						accepted[i].Add(1)
					}
				}
			})
			for i := range tasks {
				if n := claimed[i].Load(); n > 1 || (n == 1) == cancelled[i].Load() || accepted[i].Load() > 0 && n == 0 {
					f.Errorf("task %d: claimed %d times, cancelled before any: %v, %d cancels accepted", i, n, cancelled[i].Load(), accepted[i].Load())
				}
			}
		},
	},
	{
		"a record and its body belong together",
		"Bodies are stored apart. A read of both while a task is replaced returns those of one incarnation.",
		func(f *fixture) {
			spec := func(who, round int) task.Spec {
				id := fmt.Sprintf("%d.%d", who, round)
				return tasktest.Spec("a", start, tasktest.Text(id), func(s *task.Spec) { s.ID = id })
			}
			f.must(start, task.Replace{Spec: spec(0, 0)})
			f.together(func(who int) {
				for round := range 10 {
					if who%4 == 0 {
						f.one(task.Replace{Spec: spec(who, round)})
						continue
					}
					got, err := f.store.Get(f.Context(), tasktest.Key("a"))
					if err != nil || string(got.Request.Body) != got.ID {
						f.Errorf("Get: incarnation %+v, error %v", got, err)
						return
					}
					l, err := f.store.List(f.Context(), ns(), task.Page{Limit: 1, Bodies: true})
					if err != nil || len(l.Tasks) != 1 || string(l.Tasks[0].Request.Body) != l.Tasks[0].ID {
						f.Errorf("List: %+v, error %v", l, err)
						return
					}
				}
			})
		},
	},
	{
		"an instant is made once, however many fire it",
		"Of many calls that fire one schedule at the same time as many succeed as instants are due; each makes another one.",
		func(f *fixture) {
			s := f.schedule("nightly", time.Second, func(s *task.ScheduleSpec) { s.Rule.Missed = recurrence.FireAll })
			made := make([]atomic.Int64, crowd()) // by the second
			f.together(func(int) {
				replies, err := f.store.Transit(f.Context(), start+task.Millis(crowd()/4*1000), store.Fires([]task.Fire{{Key: s.Key()}}))
				switch {
				case err != nil:
					f.Errorf("Fire: %v", err)
				case replies[0].Err == nil:
					_, at, _ := task.OccurrenceOf(replies[0].Spawned.Name)
					made[(at-start)/1000].Add(1)
				case !errors.Is(replies[0].Err, task.ErrNotDue):
					f.Errorf("Fire: %v", replies[0].Err)
				}
			})
			for i := range made {
				if want := i >= 1 && i <= crowd()/4; made[i].Load() > 1 || want != (made[i].Load() == 1) {
					f.Errorf("instant %d was made %d times", i, made[i].Load())
				}
			}
		},
	},
	{
		"unfinished occurrences stay counted while everything changes",
		"Occurrences begin, are triggered, cancelled and replaced while their schedule fires, pauses and is put again; when all have ended the next instant is free.",
		func(f *fixture) {
			s := f.schedule("nightly", time.Second, overlap(recurrence.SkipOverlap), func(s *task.ScheduleSpec) { s.Rule.CatchupWindow = time.Hour })
			put, triggered := f.scheduleSpec("nightly", time.Second, overlap(recurrence.SkipOverlap)), make([]task.Spec, crowd())
			for i := range triggered {
				triggered[i] = f.triggered("nightly", start+task.Millis(i))
			}
			f.together(func(who int) {
				for round := range 8 {
					switch (who + round) % 4 {
					case 0:
						if _, err := f.store.Transit(f.Context(), start+task.Millis(round*1000), store.Fires([]task.Fire{{Key: s.Key()}})); err != nil {
							f.Errorf("Fire: %v", err)
						}
					case 1:
						f.one(task.Replace{Spec: triggered[who]})
					case 2:
						f.one(task.Cancel{Key: triggered[(who+1)%crowd()].Key})
					case 3:
						f.one(task.PauseSchedule{Key: s.Key(), Resume: round%2 == 0})
						f.one(task.PutSchedule{Spec: put})
					}
				}
			})
			f.must(start, task.PauseSchedule{Key: s.Key(), Resume: true})
			if r := f.fire(start+3_600_000, s); r.Err != nil || r.Spawned != nil {
				f.Errorf("with some that are unfinished: %+v", r)
			}
			for _, name := range names(f.list(ns(), task.Page{Limit: 1000})) {
				f.one(task.Cancel{Key: tasktest.Key(name)})
			}
			if r := f.fire(start+7_200_000, s); r.Err != nil || r.Spawned == nil {
				f.Errorf("with none that is unfinished: %+v", r)
			}
		},
	},
	{
		"a storm leaves no wreck",
		"After any mix of calls at the same time every invariant holds: nothing is lost between a record and its index.",
		func(f *fixture) {
			seeds := make([]*generator, crowd())
			for i := range seeds {
				seeds[i] = &generator{Rand: rand.New(rand.NewPCG(2, uint64(i))), now: start, serial: i * 1_000_000}
			}
			f.together(func(who int) {
				g := seeds[who]
				for range 20 {
					namespace := g.oneOf(universe.namespaces)
					l, err := f.store.List(f.Context(), task.Filter{Namespace: namespace}, task.Page{Limit: 100})
					schedules, also := f.store.List(f.Context(), task.Filter{Namespace: namespace, Queue: task.ScheduleQueue}, task.Page{Limit: 100, Before: task.FirstTaskName})
					if err = errors.Join(err, also); err != nil {
						f.Errorf("List: %v", err)
						return
					}
					g.Records, g.now = append(schedules.Tasks, l.Tasks...), g.now+task.Millis(g.IntN(400))
					if _, err := g.command().run(f.Context(), f.store, g.now); err != nil {
						f.Errorf("%v", err)
						return
					}
				}
			})
		},
	},
	{
		"closing under load ends every call",
		"Calls that meet Close are answered or get ErrClosed; none hangs and none panics.",
		func(f *fixture) {
			specs := make([]task.Spec, crowd())
			for i := range specs {
				specs[i] = f.spec(fmt.Sprintf("t%d", i))
			}
			f.together(func(who int) {
				if who == crowd()/2 {
					if err := f.store.Close(); err != nil {
						f.Errorf("Close: %v", err)
					}
					return
				}
				for {
					_, err := f.store.Transit(f.Context(), start, store.Changes([]task.Change{task.Replace{Spec: specs[who]}}))
					if errors.Is(err, task.ErrClosed) {
						return
					}
					if err != nil {
						f.Errorf("Apply: %v", err)
						return
					}
				}
			})
		},
	},
}

// together runs part in a crowd of goroutines that begin at the same time, and
// waits for them. part may fail the test, but must not end it.
func (f *fixture) together(part func(i int)) {
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for i := range crowd() {
		wg.Go(func() {
			<-begin
			part(i)
		})
	}
	close(begin)
	wg.Wait()
}

// winners runs do in a crowd of goroutines. want of the calls must succeed, and the
// others must fail with an error.
func (f *fixture) winners(want int, refused error, do func(i int) error) {
	f.Helper()
	var won atomic.Int64
	f.together(func(i int) {
		if err := do(i); err == nil {
			won.Add(1)
		} else if refused == nil || !errors.Is(err, refused) {
			f.Errorf("call %d: %v", i, err)
		}
	})
	if won.Load() != int64(want) {
		f.Errorf("%d calls succeeded, want %d", won.Load(), want)
	}
}

// oneEdit applies one edit, from any goroutine.
func (f *fixture) oneEdit(e settings.Edit) error {
	replies, err := f.store.Configure(f.Context(), start, []settings.Edit{e})
	if err != nil {
		return err
	}
	return replies[0].Err
}

// one applies one change, from any goroutine.
func (f *fixture) one(c task.Change) store.Reply {
	replies, err := f.store.Transit(f.Context(), start, store.Changes([]task.Change{c}))
	if err != nil {
		f.Errorf("Apply: %v", err)
		return store.Reply{Err: err}
	}
	return replies[0]
}
