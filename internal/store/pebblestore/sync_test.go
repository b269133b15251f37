package pebblestore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// blockableDisk is a disk on which syncs of the log wait while it is shut.
type blockableDisk struct {
	mu   sync.Mutex
	shut chan struct{} // nil: open
}

func (g *blockableDisk) wrap(fs vfs.FS) vfs.FS {
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if isLogSync(op) {
			g.mu.Lock()
			shut := g.shut
			g.mu.Unlock()
			if shut != nil {
				<-shut
			}
		}
		return nil
	}))
}

func (g *blockableDisk) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = make(chan struct{})
}

func (g *blockableDisk) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.shut)
	g.shut = nil
}

// answered runs call in a goroutine. now reports whether call has returned once
// all goroutines in the bubble wait.
func answered(call func() error) (now func() bool, result func() error) {
	done := make(chan struct{})
	var err error
	go func() {
		defer close(done)
		err = call()
	}()
	now = func() bool {
		synctest.Wait()
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
	return now, func() error { <-done; return err }
}

func TestNothingIsAnsweredBeforeItIsSynced(t *testing.T) {
	lane := taskOf(newSpec("a", benchStart)).Lane()
	calls := map[string]func(ctx context.Context, s *Store) error{
		"get": func(ctx context.Context, s *Store) error {
			_, err := s.Get(ctx, tasktest.Key("a"))
			return err
		},
		"list": func(ctx context.Context, s *Store) error {
			l, err := s.List(ctx, task.Filter{Namespace: task.DefaultNamespace}, task.Page{Limit: 10})
			return errors.Join(err, wantOne(len(l.Tasks)))
		},
		"peek": func(ctx context.Context, s *Store) error {
			found, err := s.Peek(ctx, []store.LaneRead{{Lane: lane, Until: benchStart, Limit: 10}})
			return errors.Join(err, wantOne(len(found[0])))
		},
		"claim": func(ctx context.Context, s *Store) error { return claimOne(ctx, s, "a") },
		"counts": func(ctx context.Context, s *Store) error {
			n, err := s.Counts(ctx)
			return errors.Join(err, wantOne(len(n)))
		},
		"the create that finds it": func(ctx context.Context, s *Store) error {
			r, err := s.Transit(ctx, benchStart, store.Changes([]task.Change{task.Create{Spec: newSpec("a", benchStart)}}))
			if err == nil && errors.Is(r[0].Err, task.ErrExists) {
				return nil
			}
			return errors.Join(err, errors.New("it was created again"))
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var g blockableDisk
				s := open(t, g.wrap(vfs.NewMem()), Config{})
				defer func() { _ = s.Close() }()
				g.close()
				created, createErr := answered(func() error { return apply(t.Context(), s, task.Create{Spec: newSpec("a", benchStart)}) })
				if created() {
					t.Error("a create was answered before it was synced")
				}
				called, callErr := answered(func() error { return call(t.Context(), s) })
				if called() {
					t.Error("answered before the changes it saw were synced")
				}
				g.open()
				if err := errors.Join(createErr(), callErr()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestNoSettingIsShownOrAnsweredBeforeItIsSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g blockableDisk
		s := open(t, g.wrap(vfs.NewMem()), Config{})
		defer func() { _ = s.Close() }()
		var called atomic.Bool
		s.Watch(store.Watcher{Settings: func(*settings.Settings) { called.Store(true) }})
		wait := func(name string, call func() error) (result func() error) {
			now, result := answered(call)
			if now() {
				t.Errorf("%s was answered before it was synced", name)
			}
			return result
		}
		edit := func(name string, e settings.Edit) (result func() error) {
			return wait(name, func() error {
				r, err := s.Configure(t.Context(), benchStart, []settings.Edit{e})
				if err != nil {
					return err
				}
				return r[0].Err
			})
		}
		put := settings.PutNamespace{Settings: settings.NamespaceSettings{Name: task.DefaultNamespace, MaxPending: 1}}
		fill := apply(t.Context(), s, task.Create{Spec: newSpec("a", benchStart)})
		g.close()
		firstErr := edit("an edit", put)
		againErr := edit("one that it refuses", settings.PutNamespace{Settings: put.Settings, If: task.Precondition{IfNoneMatch: true}})
		nothingErr := edit("one that does nothing", settings.EndPurge{Namespace: task.DefaultNamespace, Name: "q"})
		fullErr := wait("a create beyond its quota", func() error { return apply(t.Context(), s, task.Create{Spec: newSpec("b", benchStart)}) })
		entryErr := wait("its audit entry", func() error {
			p, err := s.Audit(t.Context(), settings.AuditFilter{}, 0, 10)
			return errors.Join(err, wantOne(len(p.Entries)))
		})
		if n, ok := s.Standing().Settings.Get(put.Target()).(*settings.NamespaceSettings); ok || called.Load() {
			t.Errorf("shown before it was synced: %+v, called: %v", n, called.Load())
		}
		g.open()
		if err := errors.Join(fill, firstErr(), nothingErr(), entryErr()); err != nil || !errors.Is(againErr(), task.ErrPrecondition) {
			t.Error(err, againErr())
		}
		if _, ok := errors.AsType[*task.QuotaError](fullErr()); !ok {
			t.Errorf("the create: %v", fullErr())
		}
		if s.Standing().Settings.Get(put.Target()) == nil || !called.Load() {
			t.Errorf("not shown afterwards; called: %v", called.Load())
		}
	})
}

func TestAClaimDoesNotWaitForTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g blockableDisk
		s := open(t, g.wrap(vfs.NewMem()), Config{})
		defer func() { _ = s.Close() }()
		mustApply(t, s, []task.Change{task.Create{Spec: newSpec("a", benchStart)}})
		g.close()
		other, otherErr := answered(func() error { return apply(t.Context(), s, task.Create{Spec: newSpec("b", benchStart)}) })
		if other() {
			t.Error("the create of another task did not wait")
		}
		claimed, claimErr := answered(func() error { return claimOne(t.Context(), s, "a") })
		if !claimed() {
			t.Error("a claim waited for the sync of another task")
		}
		settled, settleErr := answered(func() error { return settleOne(t.Context(), s, "a") })
		if settled() {
			t.Error("a settlement was answered before it was synced")
		}
		g.open()
		if err := errors.Join(otherErr(), claimErr(), settleErr()); err != nil {
			t.Error(err)
		}
	})
}

func wantOne(n int) error {
	if n != 1 {
		return errors.New("not exactly one")
	}
	return nil
}

// taskOf returns the record that a spec creates.
func taskOf(s task.Spec) *task.Task { return tasktest.Made(s, benchStart) }

// apply makes one change. The error is that of the call or of the change.
func apply(ctx context.Context, s *Store, c task.Change) error {
	replies, err := s.Transit(ctx, benchStart, store.Changes([]task.Change{c}))
	return errors.Join(err, firstError(replies))
}

func claimOne(ctx context.Context, s *Store, name string) error {
	return claimTask(ctx, s, taskOf(newSpec(name, benchStart)), benchStart)
}

// claimTask claims t in its present state.
func claimTask(ctx context.Context, s *Store, t *task.Task, now task.Millis) error {
	replies, err := s.Transit(ctx, now, store.Claims([]task.Claim{tasktest.Claim(t, task.Token("token of "+t.Name), now+1000)}))
	return errors.Join(err, firstError(replies))
}

func settleOne(ctx context.Context, s *Store, name string) error {
	replies, err := s.Transit(ctx, benchStart, store.Settlements([]task.Settlement{{
		Key: tasktest.Key(name), Token: task.Token("token of " + name), Outcome: task.Outcome{Verdict: task.Success, Status: 200, StartedAt: benchStart},
	}}))
	return errors.Join(err, firstError(replies))
}
