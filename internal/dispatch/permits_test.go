package dispatch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/dispatch/permittest"
	"github.com/foliot/foliot/internal/store"
)

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
