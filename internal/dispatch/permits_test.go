package dispatch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/dispatch/permittest"
	"github.com/foliot/foliot/internal/store"
)

// counter is an Office as a node at that distance sees it.
type counter struct {
	mu    sync.Mutex // guards the fields below
	o     *permittest.Model
	away  bool // it does not reply
	hint  func([]store.PermitScope)
	last  map[store.PermitScope]store.PermitAsk
	asked map[store.PermitScope]int

	wide  time.Duration // round-trip time
	began time.Time
}

var errAway = errors.New("away")

func newCounter(wide time.Duration) *counter {
	return &counter{
		o: permittest.NewModel(6 * time.Second), wide: wide, began: time.Now(),
		last: map[store.PermitScope]store.PermitAsk{}, asked: map[store.PermitScope]int{},
	}
}

func (c *counter) Shared() bool { return true }

func (c *counter) WatchPermits(hint func([]store.PermitScope)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hint = hint
}

func (c *counter) Permit(ctx context.Context, asks []store.PermitAsk) []store.PermitReply {
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

func (c *counter) set(away bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = away
}

// asks returns the number of requests so far.
func (c *counter) asks() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, k := range c.asked {
		n += k
	}
	return n
}

// out returns the permits and tokens that the model has granted.
func (c *counter) out() (permits, tokens int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.o.Held(0)
}
