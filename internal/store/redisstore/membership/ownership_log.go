package membership

import (
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

// ownershipLog is what is yet to be logged of which shards this process owns: one line,
// when it has what it is to have.
type ownershipLog struct {
	told  int       // how many shards the last line said
	since time.Time // when it first differed from that; zero: it does not
	why   []string  // each once, in the order in which they came
}

func (c *ownershipLog) note(why string) {
	if !slices.Contains(c.why, why) {
		c.why = append(c.why, why)
	}
}

// lost notes that leases had ended, which the log says by itself, so that held are left.
func (c *ownershipLog) lost(held int) {
	*c = ownershipLog{told: held, why: []string{"its leases had ended"}}
}

// because is why held shards are owned now.
func (c *ownershipLog) because(held int) string {
	switch {
	case len(c.why) > 0:
		return strings.Join(c.why, ", ")
	case held > c.told:
		return "nobody owned them"
	}
	return "others are to own them"
}

// met notes who came and went, and who is drained.
func (c *ownershipLog) met(before, after []peer) {
	find := func(list []peer, p peer) (peer, bool) {
		i := slices.IndexFunc(list, func(q peer) bool { return q.name == p.name && q.nonce == p.nonce })
		if i < 0 {
			return peer{}, false
		}
		return list[i], true
	}
	for _, p := range before {
		if _, stays := find(after, p); !stays {
			c.note(p.name + " went")
		}
	}
	for _, p := range after {
		switch old, was := find(before, p); {
		case !was:
			c.note(p.name + " came")
		case !old.draining && p.draining:
			c.note(p.name + " is drained")
		case old.draining && !p.draining:
			c.note(p.name + " is drained no more")
		}
	}
}

// write logs what has changed, if it will not change further or has not been
// told for a while.
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
	case held == c.told && settled:
		c.since, c.why = time.Time{}, nil
		return
	case held == c.told:
		return
	case c.since.IsZero():
		c.since = now
	}
	if !settled && now.Sub(c.since) < redisconn.LogAgainEvery/6 {
		return
	}
	log.Info("owns other shards now", "shards", held, "before", c.told, "wanted", wanted, "of", len(o.states), "nodes", len(o.peers), "because", c.because(held))
	*c = ownershipLog{told: held}
}
