package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
)

// saboteur is a store with one bug: the methods that are set replace the
// store's own.
type saboteur struct {
	store.Store
	apply  func(context.Context, task.Millis, []task.Change) ([]store.Reply, error)
	list   func(context.Context, task.Filter, task.Page) (task.Listing, error)
	lanes  func(context.Context, task.Millis, []store.LanePageRead) ([]store.LanePage, error)
	peek   func(context.Context, []store.LaneRead) ([][]task.Entry, error)
	claim  func(context.Context, task.Millis, []task.Claim) ([]store.Reply, error)
	settle func(context.Context, task.Millis, []task.Settlement) ([]store.Reply, error)
	fire   func(context.Context, task.Millis, []task.Fire) ([]store.Reply, error)
	reap   func(context.Context, task.Millis, int) (int, error)
	sweep  func(context.Context, task.Millis, int) (int, error)

	configure func(context.Context, task.Millis, []settings.Edit) ([]settings.EditReply, error)
	counts    func(context.Context) (map[task.QueueKey]task.Counts, error)
	audit     func(context.Context, settings.AuditFilter, uint64, int) (settings.AuditPage, error)
	scrub     func(context.Context, task.Millis, string, int) (store.Scrubbed, error)
}

// sabotages are bugs that stores have had, in this project or elsewhere.
var sabotages = map[string]func(*saboteur){
	"claims a millisecond early": func(s *saboteur) {
		s.claim = func(ctx context.Context, now task.Millis, c []task.Claim) ([]store.Reply, error) {
			return s.Store.Transit(ctx, now+1, store.Claims(c))
		}
	},
	"loses the second claim of a batch": func(s *saboteur) {
		s.claim = func(ctx context.Context, now task.Millis, c []task.Claim) ([]store.Reply, error) {
			replies, err := s.Store.Transit(ctx, now, store.Claims(c[:1]))
			return append(replies, make([]store.Reply, len(c)-1)...), err
		}
	},
	"loses a retry": func(s *saboteur) {
		s.settle = func(ctx context.Context, now task.Millis, c []task.Settlement) ([]store.Reply, error) {
			c = slices.Clone(c)
			for i := range c {
				if c[i].Outcome.Verdict == task.Failure {
					c[i].Outcome.Verdict = task.Success
				}
			}
			return s.Store.Transit(ctx, now, store.Settlements(c))
		}
	},
	"forgets idempotency keys": func(s *saboteur) {
		s.apply = eachChange(s, func(c task.Change) task.Change {
			if create, ok := c.(task.Create); ok {
				create.Idempotency = nil
				return create
			}
			return c
		})
	},
	"drops the body with a patch": func(s *saboteur) {
		s.apply = eachChange(s, func(c task.Change) task.Change {
			if p, ok := c.(task.Patch); ok && p.Body == nil {
				p.Body = &task.Body{}
				return p
			}
			return c
		})
	},
	"answers a cancel and does not do it": func(s *saboteur) {
		s.apply = func(ctx context.Context, now task.Millis, changes []task.Change) ([]store.Reply, error) {
			replies := make([]store.Reply, len(changes))
			for i, c := range changes {
				if _, ok := c.(task.Cancel); ok {
					old, _ := s.Get(ctx, c.Target())
					replies[i].Result, replies[i].Err = c.Apply(now, old, task.Facts{Policy: Policy})
					if t := replies[i].Task; t != nil {
						replies[i].Task = t.WithoutBody()
					}
					continue
				}
				r, err := s.Store.Transit(ctx, now, store.Changes([]task.Change{c}))
				if err != nil {
					return nil, err
				}
				replies[i] = r[0]
			}
			return replies, nil
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
}

func eachChange(s *saboteur, edit func(task.Change) task.Change) func(context.Context, task.Millis, []task.Change) ([]store.Reply, error) {
	return func(ctx context.Context, now task.Millis, changes []task.Change) ([]store.Reply, error) {
		changes = slices.Clone(changes)
		for i, c := range changes {
			changes[i] = edit(c)
		}
		return s.Store.Transit(ctx, now, store.Changes(changes))
	}
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
	return memstore.Restore(memstore.Config{Policy: Policy, AuditKeep: AuditKeep}, now, memstore.Contents(c))
}

// TestDifferentialCatchesEverySabotage: a checker must prove that it can find
// bugs, and its scripts must be short enough to read.
func TestDifferentialCatchesEverySabotage(t *testing.T) {
	quick.Leave(t, "sabotages a store in every way")
	for name, sabotage := range sabotages {
		t.Run(name, func(t *testing.T) { caught(t, subject(sabotage), 6) })
	}
	for name, sabotage := range sabotagesOfSettings {
		t.Run(name, func(t *testing.T) { caught(t, subject(sabotage), 6) })
	}
	for name, sabotage := range sabotagesOfSchedules {
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
		s.claim = func(ctx context.Context, now task.Millis, c []task.Claim) ([]store.Reply, error) {
			v, err := look(ctx, s.Store)
			if err != nil {
				return nil, err
			}
			kept = &v.Contents
			return s.Store.Transit(ctx, now, store.Claims(c))
		}
		s.apply = func(ctx context.Context, now task.Millis, c []task.Change) ([]store.Reply, error) {
			kept = nil
			return s.Store.Transit(ctx, now, store.Changes(c))
		}
		s.settle = func(ctx context.Context, now task.Millis, c []task.Settlement) ([]store.Reply, error) {
			kept = nil
			return s.Store.Transit(ctx, now, store.Settlements(c))
		}
		s.reap = func(ctx context.Context, now task.Millis, limit int) (int, error) {
			kept = nil
			return s.Store.(store.Reaper).Reap(ctx, now, limit)
		}
		s.sweep = func(ctx context.Context, now task.Millis, limit int) (int, error) {
			kept = nil
			return s.Store.Sweep(ctx, now, limit)
		}
		s.fire = func(ctx context.Context, now task.Millis, f []task.Fire) ([]store.Reply, error) {
			kept = nil
			return s.Store.Transit(ctx, now, store.Fires(f))
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
	if len(steps) > 0 {
		switch k := steps[0].Kind; {
		case k == store.Change && s.apply != nil:
			return s.apply(ctx, now, transitions[task.Change](steps))
		case k == store.Claim && s.claim != nil:
			return s.claim(ctx, now, transitions[task.Claim](steps))
		case k == store.Settlement && s.settle != nil:
			return s.settle(ctx, now, transitions[task.Settlement](steps))
		case k == store.Fire && s.fire != nil:
			return s.fire(ctx, now, transitions[task.Fire](steps))
		}
	}
	return s.Store.Transit(ctx, now, steps)
}

// transitions returns the transitions of steps of one kind.
func transitions[T task.Transition](steps []store.Step) []T {
	list := make([]T, len(steps))
	for i, st := range steps {
		list[i] = st.Transition.(T)
	}
	return list
}

func (s *saboteur) List(ctx context.Context, f task.Filter, page task.Page) (task.Listing, error) {
	if s.list != nil {
		return s.list(ctx, f, page)
	}
	return s.Store.List(ctx, f, page)
}

func (s *saboteur) LanePages(ctx context.Context, until task.Millis, reads []store.LanePageRead) ([]store.LanePage, error) {
	if s.lanes != nil {
		return s.lanes(ctx, until, reads)
	}
	return s.Store.LanePages(ctx, until, reads)
}

func (s *saboteur) Peek(ctx context.Context, reads []store.LaneRead) ([][]task.Entry, error) {
	if s.peek != nil {
		return s.peek(ctx, reads)
	}
	return s.Store.Peek(ctx, reads)
}

func (s *saboteur) Reap(ctx context.Context, now task.Millis, limit int) (int, error) {
	if s.reap != nil {
		return s.reap(ctx, now, limit)
	}
	return s.Store.(store.Reaper).Reap(ctx, now, limit)
}

func (s *saboteur) Sweep(ctx context.Context, now task.Millis, limit int) (int, error) {
	if s.sweep != nil {
		return s.sweep(ctx, now, limit)
	}
	return s.Store.Sweep(ctx, now, limit)
}
