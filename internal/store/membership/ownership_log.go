package membership

import (
	"log/slog"
	"slices"
	"strings"
	"time"
)

// logEvery is the shortest time between two log lines about the same.
const logEvery = time.Minute

// ownershipLog collects changes of the owned shards until they are logged: one
// line when the node owns the shards that it should own.
type ownershipLog struct {
	logged int       // the number of shards in the last line
	since  time.Time // when the number first differed from that; zero means that it does not differ
	why    []string  // reasons without duplicates, in the order in which they came
}

func (c *ownershipLog) note(why string) {
	if !slices.Contains(c.why, why) {
		c.why = append(c.why, why)
	}
}

// lost notes that leases have ended and held shards are left. The caller logs
// the loss itself.
func (c *ownershipLog) lost(held int) {
	*c = ownershipLog{logged: held, why: []string{"its leases had ended"}}
}

// because returns the reason for the change to held shards.
func (c *ownershipLog) because(held int) string {
	switch {
	case len(c.why) > 0:
		return strings.Join(c.why, ", ")
	case held > c.logged:
		return "they had no owner"
	}
	return "rebalance"
}

// notePeers notes nodes that joined, left or were drained.
func (c *ownershipLog) notePeers(before, after []Peer) {
	find := func(list []Peer, p Peer) (Peer, bool) {
		i := slices.IndexFunc(list, func(q Peer) bool { return q.Name == p.Name && q.Nonce == p.Nonce })
		if i < 0 {
			return Peer{}, false
		}
		return list[i], true
	}
	for _, p := range before {
		if _, stays := find(after, p); !stays {
			c.note(p.Name + " left")
		}
	}
	for _, p := range after {
		switch old, was := find(before, p); {
		case !was:
			c.note(p.Name + " joined")
		case !old.Draining && p.Draining:
			c.note(p.Name + " is being drained")
		case old.Draining && !p.Draining:
			c.note("the drain of " + p.Name + " ended")
		}
	}
}

// write logs the change if no further change is expected, or if the change has
// not been logged for a while.
func (c *ownershipLog) write(log *slog.Logger, now time.Time, o *Member) {
	held, wanted := 0, 0
	settled := true
	for i, state := range o.states {
		if state.held {
			held++
		}
		if o.mine[i] {
			wanted++
		}
		settled = settled && state.held == o.mine[i]
	}
	switch {
	case held == c.logged && settled:
		c.since, c.why = time.Time{}, nil
		return
	case held == c.logged:
		return
	case c.since.IsZero():
		c.since = now
	}
	if !settled && now.Sub(c.since) < logEvery/6 {
		return
	}
	log.Info("shard ownership changed", "shards", held, "before", c.logged, "wanted", wanted, "of", len(o.states), "nodes", len(o.peers), "because", c.because(held))
	*c = ownershipLog{logged: held}
}
