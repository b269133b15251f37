package redisstore

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// load creates tasks and cancels every third one, in a few goroutines, until it
// is stopped. It remembers the replies, which must hold.
type load struct {
	*testing.T
	s    *Store
	stop context.CancelFunc
	all  sync.WaitGroup

	mu       sync.Mutex // guards everything below
	answered map[string]task.State
	failed   int
}

func newLoad(t *testing.T, s *Store) *load {
	ctx, stop := context.WithCancel(t.Context())
	l := &load{T: t, s: s, stop: stop, answered: map[string]task.State{}}
	for w := range 4 {
		l.all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				name := fmt.Sprintf("w%d-%d", w, i)
				l.one(ctx, name, task.Scheduled, task.Create{Spec: specOf(name, began)})
				if i%3 == 0 {
					l.one(ctx, name, task.Cancelled, task.Cancel{Key: tasktest.Key(name)})
				}
			}
		})
	}
	return l
}

func (l *load) one(ctx context.Context, name string, becomes task.State, c task.Change) {
	replies, err := l.s.Transit(ctx, began, store.Changes([]task.Change{c}))
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil || replies[0].Err != nil:
		l.failed++
		delete(l.answered, name) // both outcomes are possible
	default:
		l.answered[name] = becomes
	}
}

// more waits until n more calls were answered.
func (l *load) more(n int) {
	l.Helper()
	first := l.count()
	redistest.Until(l.T, fmt.Sprint(n, " are answered"), func() bool { return l.count() >= first+n })
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.answered)
}

// end ends the load, and checks that the store agrees with all replies.
func (l *load) end() {
	l.Helper()
	l.stop()
	l.all.Wait()
	for name, state := range l.answered {
		if got, err := l.s.Get(context.WithoutCancel(l.Context()), tasktest.Key(name)); err != nil || got.State != state {
			l.Errorf("%s was answered to be %v, and is %v (%v)", name, state, got, err)
		}
	}
	l.Logf("%d answered, %d refused", len(l.answered), l.failed)
	checkInvariants(l.T, l.s)
}

// A server that writes to its disk before it replies loses no reply's change
// when it is killed. The store goes on by itself when the server is back.
func TestAKilledServerLosesNothingThatWasAnswered(t *testing.T) {
	long(t)
	server := redistest.New(t, "--appendfsync", "always")
	s := openAt(t, server.Addr)
	defer func() { _ = s.Close() }()
	l := newLoad(t, s)
	kills := 2
	if !testing.Short() {
		kills = 20
	}
	for range kills {
		l.more(100)
		server.Kill()
		fatal.If(t, server.Restart())
		l.more(50)
	}
	l.end()
}

// Calls end with their contexts if a server does not answer, and succeed when
// it answers again.
func TestAFrozenConnectionFailsInTimeAndRecovers(t *testing.T) {
	long(t)
	server := redistest.New(t)
	proxy := redistest.NewProxy(t, server.Addr)
	s := openAt(t, proxy.Addr)
	defer func() { _ = s.Close() }()
	fatal.If(t, errOf(s.Transit(t.Context(), began, store.Changes([]task.Change{task.Create{Spec: specOf("a", began)}}))))
	proxy.Freeze()
	for name, call := range map[string]func(context.Context) error{
		"Apply": func(ctx context.Context) error {
			_, err := s.Transit(ctx, began, store.Changes([]task.Change{task.Create{Spec: specOf("b", began)}}))
			return err
		},
		"Get":    func(ctx context.Context) error { _, err := s.Get(ctx, tasktest.Key("a")); return err },
		"Reap":   func(ctx context.Context) error { _, err := s.Reap(ctx, began, 10); return err },
		"Sweep":  func(ctx context.Context) error { _, err := s.Sweep(ctx, began, 10); return err },
		"Counts": func(ctx context.Context) error { _, err := s.Counts(ctx); return err },
		"Scrub":  func(ctx context.Context) error { _, err := s.Scrub(ctx, began, "", 10); return err },
	} {
		ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
		since := time.Now()
		if err := call(ctx); err == nil || time.Since(since) > time.Second {
			t.Errorf("%s: error %v after %v", name, err, time.Since(since))
		}
		stop()
	}
	proxy.Thaw()
	ctx, stop := context.WithTimeout(t.Context(), redistest.Patience)
	defer stop()
	replies, err := s.Transit(ctx, began, store.Changes([]task.Change{task.Create{Spec: specOf("c", began)}}))
	if err != nil || replies[0].Err != nil {
		t.Fatal(replies, err)
	}
	checkInvariants(t, s)
}
