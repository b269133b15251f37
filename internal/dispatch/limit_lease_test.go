package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest/permittest"
)

// withRemotePermits runs f with a bed that shares its limits through
// remotePermits.
func withRemotePermits(t *testing.T, wide time.Duration, r receiver, f func(b *bed, c *remotePermits)) {
	t.Helper()
	var c *remotePermits
	wrap := func(q store.DispatchStore) store.DispatchStore {
		c = newRemotePermits(wide)
		return struct {
			store.DispatchStore
			store.PermitStore
		}{q, c}
	}
	inBubble(t, Config{}, wrap, r, func(b *bed) { f(b, c) })
}

func TestQueuesWithoutLimitsAndPausedQueuesRequestNoPermits(t *testing.T) {
	withRemotePermits(t, time.Millisecond, accept, func(b *bed, c *remotePermits) {
		b.Configure(limit("paused", settings.QueueSettings{Paused: true, Concurrency: 5, Rate: 10}))
		b.apply(crowd(t, "p", 20, in("paused"))...)
		b.apply(crowd(t, "t", 100)...)
		b.pass(time.Minute)
		b.wantCalls(100)
		if n := c.asks(); n > 0 {
			t.Errorf("%d asks", n)
		}
	})
}

// TestADistantStoreDoesNotReduceConcurrency: five attempts are under way at
// once, however short they are and however far away the store is. Some requests
// must ask for hundreds of tasks.
func TestADistantStoreDoesNotReduceConcurrency(t *testing.T) {
	const takes = 10 * time.Millisecond
	withRemotePermits(t, 20*time.Millisecond, after(takes), func(b *bed, c *remotePermits) {
		b.Configure(limit("limited", settings.QueueSettings{Concurrency: 5, Rate: 1000, Burst: 1000}))
		for i := range 5 {
			b.apply(crowd(t, fmt.Sprint("limited", i), 100, in("limited"), to(fmt.Sprint("host", i)), at(millis()+1000))...)
		}
		b.pass(1999*time.Millisecond + 20*time.Millisecond) // the first of them wait for one round trip
		b.wantCalls(500)
		if n := b.most("limited", takes); n != 5 {
			t.Errorf("%d were under way at once", n)
		}
		if n := c.asks(); n > 60 {
			t.Errorf("%d asks", n)
		}
	})
}

// One round trip is for the limit of the destination, and one for those of the queue.
func TestATaskWaitsForItsPermitsForTwoRoundTripsAtMost(t *testing.T) {
	withRemotePermits(t, 20*time.Millisecond, accept, func(b *bed, c *remotePermits) {
		b.Configure(limit("limited", settings.QueueSettings{Concurrency: 5, PerDestination: 3, Rate: 100}))
		for i := range 20 {
			b.create(fmt.Sprint("t", i), time.Duration(i+1)*7*time.Second, in("limited"))
		}
		b.pass(3 * time.Minute)
		b.wantCalls(20)
		b.wantLate(2*20*time.Millisecond + tick)
		if n := c.asks(); n > 20*9 {
			t.Errorf("%d asks", n)
		}
	})
}

func TestUnusedPermitsAreGivenBack(t *testing.T) {
	withRemotePermits(t, time.Millisecond, after(100*time.Millisecond), func(b *bed, c *remotePermits) {
		b.Configure(limit("limited", settings.QueueSettings{Concurrency: 50, PerDestination: 20, Rate: 1000}))
		b.apply(crowd(t, "t", 100, in("limited"))...)
		b.pass(time.Second)
		b.wantCalls(100)
		b.pass(1500 * time.Millisecond)
		if permits, tokens := c.out(); permits+tokens > 0 {
			t.Errorf("%d permits and %d tokens are held for nothing", permits, tokens)
		}
		n := c.asks()
		b.pass(time.Hour)
		if c.asks() > n {
			t.Errorf("%d asks by a queue that has nothing to do", c.asks()-n)
		}
		if q := b.Queues(); len(q) > 0 {
			t.Errorf("queues without anything to do: %+v", q)
		}
	})
}

func TestAStoppingNodeReturnsItsPermits(t *testing.T) {
	withRemotePermits(t, time.Millisecond, after(3*time.Second), func(b *bed, c *remotePermits) {
		b.Configure(limit("limited", settings.QueueSettings{Concurrency: 50, Rate: 1000}))
		b.apply(crowd(t, "t", 5, in("limited"), patient)...)
		b.pass(time.Second)
		b.apply(crowd(t, "u", 50, in("limited"), patient)...)
		b.pass(100 * time.Millisecond)
		b.stop()
		b.pass(2500 * time.Millisecond)
		if permits, _ := c.out(); permits != 45 {
			t.Errorf("%d permits are held while 45 attempts are under way", permits)
		}
		fatal.If(t, b.end())
		if permits, tokens := c.out(); permits+tokens > 0 {
			t.Errorf("%d permits and %d tokens are held after the end", permits, tokens)
		}
	})
}

func TestWithoutTheStoreNothingStartsInLimitedQueuesAfterTheLease(t *testing.T) {
	var log strings.Builder
	var c *remotePermits
	wrap := func(q store.DispatchStore) store.DispatchStore {
		c = newRemotePermits(time.Millisecond)
		return struct {
			store.DispatchStore
			store.PermitStore
		}{q, c}
	}
	conf := Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	inBubble(t, conf, wrap, after(100*time.Millisecond), func(b *bed) {
		b.Configure(limit("limited", settings.QueueSettings{Concurrency: 2}))
		b.apply(crowd(t, "t", 1000, in("limited"))...)
		b.pass(time.Second)
		n := len(b.seen())
		c.set(true)
		b.pass(5 * time.Second)
		if len(b.seen()) < n+80 {
			t.Errorf("the permits did not hold until their lease ended: %d attempts, then %d", n, len(b.seen()))
		}
		b.pass(2 * time.Second)
		n = len(b.seen())
		asks := c.asks()
		b.create("ok0", 0, in("other"))
		b.pass(10 * time.Second)
		if len(b.seen()) != n+1 {
			t.Errorf("%d attempts without permits", len(b.seen())-n-1)
		}
		if more := c.asks() - asks; more > 15 {
			t.Errorf("%d asks in ten seconds without any answer", more)
		}
		if n := strings.Count(log.String(), "could not"); n > 3 {
			t.Errorf("it said %d times:\n%s", n, log.String())
		}
		c.set(false)
		b.pass(2 * time.Second)
		if len(b.seen()) < n+20 {
			t.Errorf("when the store was there again %d attempts started", len(b.seen())-n)
		}
	})
}

func TestATaskRunByHandNeedsNoSharedToken(t *testing.T) {
	withRemotePermits(t, time.Millisecond, accept, func(b *bed, _ *remotePermits) {
		b.Configure(limit("limited", settings.QueueSettings{Rate: 0.001, Burst: 1, Paused: true}))
		b.create("t", time.Hour, in("limited"))
		b.apply(task.Run{Key: key("t")})
		b.pass(time.Second)
		b.wantCalls(1)
	})
}

// remotePermits is a PermitStore behind a connection with a round-trip time.
type remotePermits struct {
	mu    sync.Mutex // guards the fields below
	o     *permittest.Model
	away  bool // it does not reply
	last  map[store.PermitScope]store.PermitAsk
	asked map[store.PermitScope]int

	wide  time.Duration // round-trip time
	began time.Time
}

var errAway = errors.New("away")

func newRemotePermits(wide time.Duration) *remotePermits {
	return &remotePermits{
		o: permittest.NewModel(6 * time.Second), wide: wide, began: time.Now(),
		last: map[store.PermitScope]store.PermitAsk{}, asked: map[store.PermitScope]int{},
	}
}

func (c *remotePermits) Permit(ctx context.Context, asks []store.PermitAsk) []store.PermitReply {
	pause(ctx, c.wide/2)
	replies := make([]store.PermitReply, len(asks))
	c.mu.Lock()
	for i, a := range asks {
		c.last[a.PermitScope] = a
		c.asked[a.PermitScope]++
		if c.away {
			replies[i].Err = errAway
			continue
		}
		replies[i] = c.o.Permit(time.Since(c.began), 0, a)
	}
	c.mu.Unlock()
	pause(ctx, c.wide/2)
	return replies
}

func (c *remotePermits) set(away bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = away
}

// asks returns the number of requests so far.
func (c *remotePermits) asks() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, k := range c.asked {
		n += k
	}
	return n
}

// out returns the permits and tokens that the model has granted.
func (c *remotePermits) out() (permits, tokens int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.o.Held(0)
}
