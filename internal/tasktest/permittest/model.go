// Package permittest is a model of store.PermitStore for tests: limits that
// nodes share.
package permittest

import (
	"math"
	"time"

	"github.com/foliot/foliot/internal/store"
)

// Model grants permits and tokens to any number of nodes, and keeps the
// promises of store.PermitStore in the simplest way, with the time as an
// argument.
type Model struct {
	// Share returns the number of permits to which a node must return, and when
	// the node must ask again. If it is nil, no node waits for permits.
	Share func(node, held int) (share int, again time.Duration)

	lease time.Duration

	permits map[int]holding
	bucket  struct {
		tat     time.Duration
		holding map[int]holding
	}
}

// holding holds the permits or tokens of one node.
type holding struct {
	n    int // number of permits, or of tokens that are out
	used uint64
	ends time.Duration
}

// NewModel returns a Model that has granted nothing, and that grants leases of
// this duration.
func NewModel(lease time.Duration) *Model {
	m := &Model{lease: lease, permits: map[int]holding{}}
	m.bucket.holding = map[int]holding{}
	return m
}

// Permit returns the reply to a node's request at the time now.
func (m *Model) Permit(now time.Duration, node int, ask store.PermitAsk) store.PermitReply {
	r := store.PermitReply{Lease: m.lease, Share: -1}
	if ask.Concurrency > 0 {
		others, mine := 0, m.permits[node]
		for n, d := range m.permits {
			if n != node && d.ends > now {
				others += d.n
			}
		}
		if mine.ends <= now {
			mine.n = 0
		}
		mine.n = min(mine.n, ask.Keep)
		mine.n = max(mine.n, min(ask.Want, ask.Concurrency-others))
		mine.ends = now + m.lease
		m.permits[node] = mine
		r.Held = mine.n
		if ask.Want > mine.n {
			r.Again = 50 * time.Millisecond
		}
		if m.Share != nil {
			r.Share, r.Again = m.Share(node, mine.n)
		}
	}
	if ask.Rate > 0 {
		r.Tokens = m.tokens(now, node, ask)
		if r.Tokens < ask.Tokens {
			r.Again = max(time.Millisecond, time.Duration(float64(time.Second)/ask.Rate/2))
		}
	}
	return r
}

func (m *Model) tokens(now time.Duration, node int, ask store.PermitAsk) int {
	b, interval := &m.bucket, float64(time.Second)/ask.Rate
	for n, d := range b.holding {
		if d.ends <= now {
			b.tat = max(b.tat, d.ends) + time.Duration(float64(d.n)*interval)
			delete(b.holding, n)
		}
	}
	mine, ok := b.holding[node]
	if !ok {
		mine.used = ask.Used
	}
	if spent := int(ask.Used - mine.used); spent > 0 {
		b.tat = max(b.tat, now-ask.UsedAgo) + time.Duration(math.Ceil(float64(spent)*interval))
		mine.n = max(mine.n-spent, 0)
	}
	mine.used, mine.n, mine.ends = ask.Used, min(mine.n, ask.Tokens), now+m.lease
	free := float64(ask.Burst) - float64(max(b.tat-now, 0))/interval - float64(mine.n)
	for n, d := range b.holding {
		if n != node {
			free -= float64(d.n)
		}
	}
	mine.n += max(min(ask.Tokens-mine.n, int(math.Floor(free))), 0)
	b.holding[node] = mine
	return mine.n
}

// Held returns how many permits and tokens a node has.
func (m *Model) Held(node int) (permits, tokens int) {
	return m.permits[node].n, m.bucket.holding[node].n
}
