package storetest

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
)

// saboteur is a store with one bug: the functions that are set replace the
// store's own methods.
type saboteur struct {
	store.Store
	transit   func(context.Context, task.Millis, []store.Step) ([]store.Reply, error)
	list      func(context.Context, task.Filter, task.Page) (task.Listing, error)
	lanes     func(context.Context, task.Millis, []store.LanePageRead) ([]store.LanePage, error)
	peek      func(context.Context, []store.LaneRead) ([][]task.Entry, error)
	reap      func(context.Context, task.Millis, int) (int, error)
	sweep     func(context.Context, task.Millis, int) (int, error)
	configure func(context.Context, task.Millis, []settings.Edit) ([]settings.EditReply, error)
	counts    func(context.Context) (map[task.QueueKey]task.Counts, error)
	audit     func(context.Context, settings.AuditFilter, uint64, int) (settings.AuditPage, error)
	scrub     func(context.Context, task.Millis, string, int) (store.Scrubbed, error)
}

// sabotages are bugs that stores have had, in this project or elsewhere.
var sabotages = map[string]func(*saboteur){
	"claims a millisecond early":           early(store.Claim),
	"fires a millisecond early":            early(store.Fire),
	"loses the second claim of a batch":    truncated(store.Claim),
	"loses the second schedule of a batch": truncated(store.Fire),
	"loses a retry": edited(func(s *task.Settlement) {
		if s.Outcome.Verdict == task.Failure {
			s.Outcome.Verdict = task.Success
		}
	}),
	"forgets idempotency keys":              edited(func(c *task.Create) { c.Idempotency = nil }),
	"takes each repeat for the first call":  edited(func(c *task.Repeat) { c.Key.Name += "-" }),
	"believes a clock that was set ahead":   edited(func(c *task.Claim) { c.Trusted = 0 }),
	"reports no death":                      edited(func(c *task.Create) { c.Spec.OnDead = "" }),
	"fires what is paused":                  edited(func(c *task.PauseSchedule) { c.Resume = true }),
	"continues with another rule as before": edited(func(c *task.PutSchedule) { c.Spec.Rule.Anchor = 1 }),
	"drops the body with a patch": edited(func(c *task.Patch) {
		if c.Body == nil {
			c.Body = &task.Body{}
		}
	}),
	"forgets who makes a change": func(s *saboteur) {
		s.transit = func(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
			return s.Store.Transit(settings.WithActor(ctx, settings.Actor{}), now, steps)
		}
	},
	"answers a cancel and does not do it": func(s *saboteur) {
		s.transit = func(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
			replies := make([]store.Reply, len(steps))
			for i, st := range steps {
				c, ok := st.Transition.(task.Cancel)
				if !ok {
					r, err := s.Store.Transit(ctx, now, steps[i:i+1])
					if err != nil {
						return nil, err
					}
					replies[i] = r[0]
					continue
				}
				old, _ := s.Get(ctx, c.Key)
				replies[i].Result, replies[i].Err = c.Apply(now, old, task.Facts{Policy: Policy})
				if t := replies[i].Task; t != nil {
					replies[i].Task = t.WithoutBody()
				}
			}
			return replies, nil
		}
	},
	"forgets what it skipped": fired(func(_ context.Context, _ *saboteur, _ task.Millis, r *store.Reply) error {
		r.Skipped = nil
		return nil
	}),
	"makes an occurrence without a body": fired(func(ctx context.Context, s *saboteur, now task.Millis, r *store.Reply) error {
		return s.after(ctx, now, r, func(k task.Key) task.Change { return task.Patch{Key: k, Body: &task.Body{}} })
	}),
	"makes an occurrence, and none": fired(func(ctx context.Context, s *saboteur, now task.Millis, r *store.Reply) error {
		return s.after(ctx, now, r, func(k task.Key) task.Change { return task.Cancel{Key: k} })
	}),
	"shows schedules among the tasks": func(s *saboteur) {
		s.list = func(ctx context.Context, f task.Filter, page task.Page) (task.Listing, error) {
			l, err := s.Store.List(ctx, f, page)
			if err != nil || f.Queue != "" || page.After != "" {
				return l, err
			}
			f.Queue = task.ScheduleQueue
			more, err := s.Store.List(ctx, f, page)
			l.Tasks = append(more.Tasks, l.Tasks...)
			return l, err
		}
	},
	"skips a name between two pages": func(s *saboteur) {
		s.list = func(ctx context.Context, f task.Filter, page task.Page) (task.Listing, error) {
			l, err := s.Store.List(ctx, f, page)
			if l.Next != "" {
				l.Next += "~" // after all names that begin with it
			}
			return l, err
		}
	},
	"leaves out the task that ended last": func(s *saboteur) {
		s.list = func(ctx context.Context, f task.Filter, page task.Page) (task.Listing, error) {
			l, err := s.Store.List(ctx, f, page)
			if page.ByEnd != 0 && page.After == "" && len(l.Tasks) > 1 {
				l.Tasks = l.Tasks[1:]
			}
			return l, err
		}
	},
	"ends a lane before its last instant": func(s *saboteur) {
		s.peek = func(ctx context.Context, reads []store.LaneRead) ([][]task.Entry, error) {
			reads = slices.Clone(reads)
			for i := range reads {
				reads[i].Until--
			}
			return s.Store.Peek(ctx, reads)
		}
	},
	"reports a lane too late": func(s *saboteur) {
		s.lanes = func(ctx context.Context, until task.Millis, reads []store.LanePageRead) ([]store.LanePage, error) {
			pages, err := s.Store.LanePages(ctx, until, reads)
			for _, p := range pages {
				for i := range p.Heads {
					p.Heads[i].Due++
				}
			}
			return pages, err
		}
	},
	"sweeps a millisecond early": func(s *saboteur) {
		s.sweep = func(ctx context.Context, now task.Millis, limit int) (int, error) {
			return s.Store.Sweep(ctx, now+1, limit)
		}
	},
	"reaps more than it says": func(s *saboteur) {
		s.reap = func(ctx context.Context, now task.Millis, limit int) (int, error) {
			n, err := s.Store.(store.Reaper).Reap(ctx, now, limit+1)
			return min(n, limit), err
		}
	},
	"answers the second edit of a call and does not make it": func(s *saboteur) {
		s.configure = func(ctx context.Context, now task.Millis, edits []settings.Edit) ([]settings.EditReply, error) {
			replies, err := s.Store.Configure(ctx, now, edits[:1])
			for _, e := range edits[1:] {
				changes, err := e.Apply(now, s.Standing().Settings)
				replies = append(replies, settings.EditReply{Changes: changes, Err: err})
			}
			return replies, err
		}
	},
	"forgets who made an edit": func(s *saboteur) {
		s.configure = func(ctx context.Context, now task.Millis, edits []settings.Edit) ([]settings.EditReply, error) {
			return s.Store.Configure(settings.WithActor(ctx, settings.Actor{}), now, edits)
		}
	},
	"admits one task too many": editing(func(e *settings.PutNamespace) {
		if e.Settings.MaxPending > 0 {
			e.Settings.MaxPending++
		}
	}),
	"keeps what a queue finished for as long as any other": editing(func(e *settings.PutQueue) { e.Queue.KeepFinished = 0 }),
	"counts the dead twice": func(s *saboteur) {
		s.counts = func(ctx context.Context) (map[task.QueueKey]task.Counts, error) {
			all, err := s.Store.Counts(ctx)
			for key, n := range all {
				n.States[task.Dead] *= 2
				all[key] = n
			}
			return all, err
		}
	},
	"leaves pauses out of the audit log": func(s *saboteur) {
		s.audit = func(ctx context.Context, f settings.AuditFilter, before uint64, limit int) (settings.AuditPage, error) {
			p, err := s.Store.Audit(ctx, f, before, limit)
			p.Entries = slices.DeleteFunc(p.Entries, func(e settings.AuditEntry) bool { return e.Action == "queue.pause" })
			return p, err
		}
	},
	"takes leases back at the first look": func(s *saboteur) {
		s.scrub = func(ctx context.Context, now task.Millis, cursor string, limit int) (store.Scrubbed, error) {
			if _, err := s.Store.Scrub(ctx, now.Add(-store.AbandonedAfter), "", 1000); err != nil {
				return store.Scrubbed{}, err
			}
			return s.Store.Scrub(ctx, now, cursor, limit)
		}
	},
}

// early makes steps of a kind with a clock that is a millisecond ahead.
func early(kind store.Kind) func(*saboteur) {
	return func(s *saboteur) {
		s.transit = func(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
			if steps[0].Kind == kind {
				now++
			}
			return s.Store.Transit(ctx, now, steps)
		}
	}
}

// truncated makes only the first of several steps of a kind.
func truncated(kind store.Kind) func(*saboteur) {
	return func(s *saboteur) {
		s.transit = func(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
			made := steps
			if steps[0].Kind == kind {
				made = steps[:1]
			}
			replies, err := s.Store.Transit(ctx, now, made)
			return append(replies, make([]store.Reply, len(steps)-len(made))...), err
		}
	}
}

// edited edits each step of a type before it is made.
func edited[T task.Transition](edit func(*T)) func(*saboteur) {
	return func(s *saboteur) {
		s.transit = func(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
			steps = slices.Clone(steps)
			for i, st := range steps {
				if t, ok := st.Transition.(T); ok {
					edit(&t)
					steps[i].Transition = t
				}
			}
			return s.Store.Transit(ctx, now, steps)
		}
	}
}

// editing edits each edit of a type before it is made.
func editing[T settings.Edit](edit func(*T)) func(*saboteur) {
	return func(s *saboteur) {
		s.configure = func(ctx context.Context, now task.Millis, edits []settings.Edit) ([]settings.EditReply, error) {
			edits = slices.Clone(edits)
			for i, e := range edits {
				if e, ok := e.(T); ok {
					edit(&e)
					edits[i] = e
				}
			}
			return s.Store.Configure(ctx, now, edits)
		}
	}
}

// fired calls edit with the reply to each fire that succeeded.
func fired(edit func(context.Context, *saboteur, task.Millis, *store.Reply) error) func(*saboteur) {
	return func(s *saboteur) {
		s.transit = func(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
			replies, err := s.Store.Transit(ctx, now, steps)
			for i := range replies {
				if err == nil && replies[i].Err == nil && steps[i].Kind == store.Fire {
					err = edit(ctx, s, now, &replies[i])
				}
			}
			return replies, err
		}
	}
}

// after changes the occurrence that a fire has made.
func (s *saboteur) after(ctx context.Context, now task.Millis, r *store.Reply, c func(task.Key) task.Change) error {
	if r.Spawned == nil {
		return nil
	}
	_, err := s.Store.Transit(ctx, now, store.Changes([]task.Change{c(r.Spawned.Key())}))
	return err
}

// subject returns a Subject whose store has the bug, and loses tasks over a
// reopen if that is the bug.
func subject(sabotage func(*saboteur), reopens ...Reopen) Subject {
	return Subject{
		Open: func(*testing.T) store.Store {
			s := &saboteur{Store: memstore.New(memstore.Config{Policy: Policy, AuditKeep: AuditKeep})}
			sabotage(s)
			return s
		},
		Reference: restore,
		Reopens:   reopens,
	}
}

func restore(now task.Millis, c Contents) store.Store {
	return Refill(memstore.New(memstore.Config{Policy: Policy, AuditKeep: AuditKeep}), now, c)
}

// TestDifferentialCatchesEverySabotage: a checker must prove that it can find
// bugs, and its scripts must be short enough to read.
func TestDifferentialCatchesEverySabotage(t *testing.T) {
	quick.Leave(t, "sabotages a store in every way")
	for name, sabotage := range sabotages {
		t.Run(name, func(t *testing.T) { caught(t, subject(sabotage), 6) })
	}
}

// TestDifferentialCatchesLossesAtAReopen: after a crash the last settlement is
// lost, or a claim although that is not allowed.
func TestDifferentialCatchesLossesAtAReopen(t *testing.T) {
	for _, c := range []struct {
		name        string
		loses       func(task.State) bool
		losesClaims bool
	}{
		{"a settled task", func(s task.State) bool { return s == task.Delivered }, true},
		{"a claim that had to stay", func(s task.State) bool { return s == task.Running }, false},
		{"a waiting task", func(s task.State) bool { return s == task.Scheduled }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			lose := func(t *testing.T, s store.Store, now task.Millis) store.Store {
				v, err := look(t.Context(), s)
				fatal.If(t, err)
				v.Records = slices.DeleteFunc(v.Records, func(r *task.Task) bool { return c.loses(r.State) })
				return restore(now, v.Contents)
			}
			caught(t, subject(func(*saboteur) {}, Reopen{Name: "crash", Do: lose, LosesClaims: c.losesClaims}), 8)
		})
	}
}

// caught fails the test unless one of some scripts finds the bug, and shrinks
// to at most most commands.
func caught(t *testing.T, s Subject, most int) {
	t.Helper()
	long := 0 // scripts that caught it and stayed too long; chance decides which ones do
	for seed := range 100 {
		sc := generate(s, uint64(seed), scriptLength)
		d := s.try(t, fmt.Sprintf("seed %d", seed), sc)
		if d == nil {
			continue
		}
		short, d := s.shrink(t, sc, d)
		t.Logf("seed %d, %d commands:\n%s", seed, len(short), short)
		if len(short) <= most {
			return
		}
		if long++; long == 3 {
			t.Errorf("%d of %d commands are left:\n%s\n%s", len(short), len(sc), short, d.what)
			return
		}
	}
	t.Errorf("not caught by short scripts among 100, %d long ones", long)
}

// TestTheComparisonAcceptsClaimsThatMayBeLost: the comparison adopts the
// allowed state that the store is in.
func TestTheComparisonAcceptsClaimsThatMayBeLost(t *testing.T) {
	var kept *Contents // the contents before the last claims
	s := subject(func(s *saboteur) {
		s.transit = func(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
			switch steps[0].Kind {
			case store.Claim:
				v, err := look(ctx, s.Store)
				if err != nil {
					return nil, err
				}
				kept = &v.Contents
			case store.Extension:
			default:
				kept = nil
			}
			return s.Store.Transit(ctx, now, steps)
		}
		s.reap = func(ctx context.Context, now task.Millis, limit int) (int, error) {
			kept = nil
			return s.Store.(store.Reaper).Reap(ctx, now, limit)
		}
		s.sweep = func(ctx context.Context, now task.Millis, limit int) (int, error) {
			kept = nil
			return s.Store.Sweep(ctx, now, limit)
		}
		s.configure = func(ctx context.Context, now task.Millis, e []settings.Edit) ([]settings.EditReply, error) {
			kept = nil
			return s.Store.Configure(ctx, now, e)
		}
	}, Reopen{Name: "power loss", LosesClaims: true, Do: func(t *testing.T, s store.Store, now task.Millis) store.Store {
		if records := kept; records != nil {
			kept = nil
			return restore(now, *records)
		}
		v, err := look(t.Context(), s)
		fatal.If(t, err)
		return restore(now, v.Contents)
	}})
	for seed := range 10 {
		if d := s.try(t, fmt.Sprintf("seed %d", seed), generate(s, uint64(seed), scriptLength)); d != nil {
			t.Fatal(d.what)
		}
	}
}

func (s *saboteur) Transit(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
	return or(s.transit, s.Store.Transit)(ctx, now, steps)
}

func (s *saboteur) List(ctx context.Context, f task.Filter, page task.Page) (task.Listing, error) {
	return or(s.list, s.Store.List)(ctx, f, page)
}

func (s *saboteur) LanePages(ctx context.Context, until task.Millis, reads []store.LanePageRead) ([]store.LanePage, error) {
	return or(s.lanes, s.Store.LanePages)(ctx, until, reads)
}

func (s *saboteur) Peek(ctx context.Context, reads []store.LaneRead) ([][]task.Entry, error) {
	return or(s.peek, s.Store.Peek)(ctx, reads)
}

func (s *saboteur) Reap(ctx context.Context, now task.Millis, limit int) (int, error) {
	return or(s.reap, s.Store.(store.Reaper).Reap)(ctx, now, limit)
}

func (s *saboteur) Sweep(ctx context.Context, now task.Millis, limit int) (int, error) {
	return or(s.sweep, s.Store.Sweep)(ctx, now, limit)
}

func (s *saboteur) Configure(ctx context.Context, now task.Millis, edits []settings.Edit) ([]settings.EditReply, error) {
	return or(s.configure, s.Store.Configure)(ctx, now, edits)
}

func (s *saboteur) Counts(ctx context.Context) (map[task.QueueKey]task.Counts, error) {
	return or(s.counts, s.Store.Counts)(ctx)
}

func (s *saboteur) Audit(ctx context.Context, f settings.AuditFilter, before uint64, limit int) (settings.AuditPage, error) {
	return or(s.audit, s.Store.Audit)(ctx, f, before, limit)
}

func (s *saboteur) Scrub(ctx context.Context, now task.Millis, cursor string, limit int) (store.Scrubbed, error) {
	return or(s.scrub, s.Store.Scrub)(ctx, now, cursor, limit)
}

// or returns the bug if there is one, and otherwise the method of the store.
func or[F any](bug, method F) F {
	if reflect.ValueOf(bug).IsNil() {
		return method
	}
	return bug
}
