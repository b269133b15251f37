package dispatch

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// office gives out permits and tokens, to any number of nodes: the shared store,
// reduced to the promise. It is told the time.
type office struct {
	lease time.Duration
	share func(node, held int) (share int, again time.Duration) // nil: nobody waits

	permits map[int]desk
	bucket  struct {
		tat  time.Duration
		desk map[int]desk
	}
	asks int
}

// desk is what one node has.
type desk struct {
	n    int // permits, or tokens out
	used uint64
	ends time.Duration
}

func newOffice(lease time.Duration) *office {
	o := &office{lease: lease, permits: map[int]desk{}}
	o.bucket.desk = map[int]desk{}
	return o
}

func (o *office) permit(now time.Duration, node int, ask task.PermitAsk) task.PermitReply {
	o.asks++
	r := task.PermitReply{Lease: o.lease, Share: -1}
	if ask.Concurrency > 0 {
		others, mine := 0, o.permits[node]
		for n, d := range o.permits {
			if n != node && d.ends > now {
				others += d.n
			}
		}
		if mine.ends <= now {
			mine.n = 0
		}
		mine.n = min(mine.n, ask.Keep)
		mine.n = max(mine.n, min(ask.Want, ask.Concurrency-others))
		mine.ends = now + o.lease
		o.permits[node] = mine
		r.Held = mine.n
		if ask.Want > mine.n {
			r.Again = 50 * time.Millisecond
		}
		if o.share != nil {
			r.Share, r.Again = o.share(node, mine.n)
		}
	}
	if ask.Rate > 0 {
		r.Tokens = o.tokens(now, node, ask)
		if r.Tokens < ask.Tokens {
			r.Again = max(time.Millisecond, time.Duration(float64(time.Second)/ask.Rate/2))
		}
	}
	return r
}

func (o *office) tokens(now time.Duration, node int, ask task.PermitAsk) int {
	b, interval := &o.bucket, float64(time.Second)/ask.Rate
	for n, d := range b.desk {
		if d.ends <= now {
			b.tat = max(b.tat, d.ends) + time.Duration(float64(d.n)*interval)
			delete(b.desk, n)
		}
	}
	mine, ok := b.desk[node]
	if !ok {
		mine.used = ask.Used
	}
	if spent := int(ask.Used - mine.used); spent > 0 {
		b.tat = max(b.tat, now-ask.UsedAgo) + time.Duration(math.Ceil(float64(spent)*interval))
		mine.n = max(mine.n-spent, 0)
	}
	mine.used, mine.n, mine.ends = ask.Used, min(mine.n, ask.Tokens), now+o.lease
	free := float64(ask.Burst) - float64(max(b.tat-now, 0))/interval - float64(mine.n)
	for n, d := range b.desk {
		if n != node {
			free -= float64(d.n)
		}
	}
	mine.n += max(min(ask.Tokens-mine.n, int(math.Floor(free))), 0)
	b.desk[node] = mine
	return mine.n
}

// counter is an office as a node sees it that is so far away.
type counter struct {
	mu    sync.Mutex // guards what follows
	o     *office
	away  bool // it does not answer
	hint  func([]task.PermitScope)
	last  map[task.PermitScope]task.PermitAsk
	asked map[task.PermitScope]int

	wide  time.Duration // there and back
	began time.Time
}

var errAway = errors.New("away")

func newCounter(wide time.Duration) *counter {
	return &counter{
		o: newOffice(6 * time.Second), wide: wide, began: time.Now(),
		last: map[task.PermitScope]task.PermitAsk{}, asked: map[task.PermitScope]int{},
	}
}

func (c *counter) Shared() bool { return true }

func (c *counter) WatchPermits(hint func([]task.PermitScope)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hint = hint
}

func (c *counter) Permit(ctx context.Context, asks []task.PermitAsk) []task.PermitReply {
	pause(ctx, c.wide/2)
	replies := make([]task.PermitReply, len(asks))
	c.mu.Lock()
	for i, a := range asks {
		c.last[a.PermitScope] = a
		c.asked[a.PermitScope]++
		if c.away {
			replies[i].Err = errAway
			continue
		}
		replies[i] = c.o.permit(time.Since(c.began), 0, a)
	}
	c.mu.Unlock()
	pause(ctx, c.wide/2)
	return replies
}

func (c *counter) set(away bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = away
}

// asks returns how many there were so far.
func (c *counter) asks() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, k := range c.asked {
		n += k
	}
	return n
}

// out returns what the office has given out.
func (c *counter) out() (permits, tokens int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.o.permits[0].n, c.o.bucket.desk[0].n
}
