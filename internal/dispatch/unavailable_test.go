package dispatch

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// partly is a queue with a shard that can be unavailable: that of the tasks
// with names that begin with "away". A call for such a task waits as for a
// server and fails, but may be applied all the same.
type partly struct {
	store.DispatchStore
	away, does atomic.Bool
}

func (p *partly) over(q store.DispatchStore) store.DispatchStore { p.DispatchStore = q; return p }

// of applies the calls for the available shard, and returns a reply for
// each item.
func of[T any](p *partly, all []T, name func(T) string, do func([]T) ([]store.Reply, error)) ([]store.Reply, error) {
	if !p.away.Load() {
		return do(all)
	}
	replies, there, places := make([]store.Reply, len(all)), []T(nil), []int(nil)
	for i, one := range all {
		gone := strings.HasPrefix(name(one), "away")
		if gone {
			replies[i].Err = fmt.Errorf("%w: a master", task.ErrUnavailable)
		}
		if !gone || p.does.Load() {
			there, places = append(there, one), append(places, i)
		}
	}
	if len(there) < len(all) || p.does.Load() {
		time.Sleep(2 * time.Second)
	}
	got, err := do(there)
	for n, r := range got {
		if i := places[n]; replies[i].Err == nil {
			replies[i] = r
		}
	}
	return replies, err
}

func (p *partly) Transit(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
	if k := steps[0].Kind; k != store.Claim && k != store.Settlement {
		return p.DispatchStore.Transit(ctx, now, steps)
	}
	return of(p, steps, func(st store.Step) string { return st.Key.Name }, func(there []store.Step) ([]store.Reply, error) {
		return p.DispatchStore.Transit(ctx, now, there)
	})
}

func TestAnUnavailableShardDoesNotStopTheTasksOfOthers(t *testing.T) {
	p := &partly{}
	slow := func(ctx context.Context, d task.Delivery) task.Outcome {
		time.Sleep(100 * time.Millisecond)
		return accept(ctx, d)
	}
	inBubble(t, Config{}, p.over, slow, func(b *bed) {
		b.create("away-begun", 0)
		b.create("there-begun", 0)
		time.Sleep(50 * time.Millisecond) // both attempts are under way
		p.away.Store(true)
		b.create("away-due", 0)
		b.create("there-due", 0)
		time.Sleep(5 * time.Second)
		for i := range 5 {
			b.create(fmt.Sprint("there-later", i), 0)
		}
		time.Sleep(5 * time.Second)
		for _, name := range []string{"there-begun", "there-due", "there-later0", "there-later4"} {
			if got := b.get(name); got.State != task.Delivered {
				t.Errorf("%s is %v", name, got.State)
			}
		}
		p.away.Store(false)
		time.Sleep(3 * time.Second)
		for _, name := range []string{"away-begun", "away-due"} {
			if got := b.get(name); got.State != task.Delivered || got.Attempts != 1 {
				t.Errorf("%s is %v after %d attempts", name, got.State, got.Attempts)
			}
		}
	})
}

func TestAClaimWithoutAReplyIsGivenBack(t *testing.T) {
	p := &partly{}
	inBubble(t, Config{}, p.over, accept, func(b *bed) {
		p.away.Store(true)
		p.does.Store(true)
		b.create("away", 0)
		time.Sleep(time.Second) // the claim is under way, and is applied
		p.away.Store(false)
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if got := b.get("away"); got.State != task.Delivered || got.Reclaims != 0 || got.Attempts != 1 {
			t.Errorf("%v, reclaims %d, tries %d", got.State, got.Reclaims, got.Attempts)
		}
	})
}
