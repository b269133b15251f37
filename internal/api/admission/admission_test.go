package admission

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// enter returns the error of an entry, and how long it waited.
func enter(ctx context.Context, g *Gate, namespace string, weight int64) (Pass, time.Duration, error) {
	began := time.Now()
	p, err := g.Enter(ctx, namespace, weight)
	return p, time.Since(began), err
}

func TestANamespaceHasBoundedUnits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(1)
		var lists []Pass
		for range heavyUnits / Large {
			p, waited, err := enter(t.Context(), g, "acme", Large)
			if err != nil || waited > 0 {
				t.Fatal(err, waited)
			}
			lists = append(lists, p)
		}
		if _, waited, err := enter(t.Context(), g, "acme", Medium); !errors.Is(err, ErrBusy) || waited != longestWait {
			t.Errorf("%v after %v", err, waited)
		}
		for range Large / Read { // small requests find the rest
			p, waited, err := enter(t.Context(), g, "acme", Read)
			if err != nil || waited > 0 {
				t.Fatal(err, waited)
			}
			defer p.Leave()
		}
		if _, waited, err := enter(t.Context(), g, "acme", Small); !errors.Is(err, ErrBusy) || waited != longestWait {
			t.Errorf("%v after %v", err, waited)
		}
		if _, waited, err := enter(t.Context(), g, "other", heavyUnits); err != nil || waited > 0 {
			t.Errorf("another namespace: %v after %v", err, waited)
		}
		time.AfterFunc(time.Second, lists[0].Leave)
		p, waited, err := enter(t.Context(), g, "acme", Large)
		if err != nil || waited != time.Second {
			t.Errorf("%v after %v", err, waited)
		}
		p.Leave()
		p.Leave() // again
		ended, end := context.WithCancel(t.Context())
		end()
		if _, _, err := enter(ended, g, "acme", heavyUnits); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := p.Return(t.Context()); err != nil {
			t.Error(err)
		}
		for _, l := range append(lists[1:], p) {
			l.Leave()
		}
		if p, waited, err := enter(t.Context(), g, "acme", heavyUnits); err != nil || waited > 0 {
			t.Errorf("units are missing: %v after %v, %+v", err, waited, p)
		}
	})
}

// Many namespaces together fill the server, so that its memory is bounded.
func TestTheServerHasBoundedUnits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(1)
		for i := range serverUnits / Large {
			if _, _, err := enter(t.Context(), g, string(rune('a'+i/3)), Large); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := enter(t.Context(), g, "one more", Small); !errors.Is(err, ErrBusy) {
			t.Error(err)
		}
	})
}

func TestRequestsThatWaitAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(1)
		for range namespaceUnits / Read {
			_, _, _ = enter(t.Context(), g, "acme", Read)
		}
		var waiting sync.WaitGroup
		for range maxWaiting {
			waiting.Go(func() { _, _, _ = enter(t.Context(), g, "acme", Small) })
		}
		synctest.Wait()
		if _, waited, err := enter(t.Context(), g, "acme", Small); !errors.Is(err, ErrBusy) || waited > 0 {
			t.Errorf("%v after %v", err, waited)
		}
		waiting.Wait()
	})
}

func TestTurnsAreGivenInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(1)
		var order []int
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				_ = g.Turn(t.Context(), func() error {
					order = append(order, i) // one at a time: the race detector checks it
					time.Sleep(time.Second)
					return nil
				})
			})
			synctest.Wait()
		}
		began := time.Now()
		all.Wait()
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("5 turns of a second took %v", took)
		}
		for i, got := range order {
			if got != i {
				t.Fatal(order)
			}
		}
	})
}

func TestPollsOfANamespaceAreBounded(t *testing.T) {
	g := New(1)
	leave, _ := g.Poll("acme")
	for range MaxPolls - 1 {
		if _, ok := g.Poll("acme"); !ok {
			t.Fatal("refused")
		}
	}
	if _, ok := g.Poll("acme"); ok {
		t.Error("there is no bound")
	}
	if _, ok := g.Poll("other"); !ok {
		t.Error("another namespace is refused")
	}
	leave()
	if _, ok := g.Poll("acme"); !ok {
		t.Error("a poll that ended is counted")
	}
}
