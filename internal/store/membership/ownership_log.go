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

func (l *ownershipLog) note(why string) {
	if !slices.Contains(l.why, why) {
		l.why = append(l.why, why)
	}
}

// lost notes that leases have ended and held shards are left, but the caller
// logs the loss itself.
func (l *ownershipLog) lost(held int) {
	*l = ownershipLog{logged: held, why: []string{"its leases had ended"}}
}

// because returns the reason for the change to held shards.
func (l *ownershipLog) because(held int) string {
	switch {
	case len(l.why) > 0:
		return strings.Join(l.why, ", ")
	case held > l.logged:
		return "they had no owner"
	}
	return "rebalance"
}

// notePeers notes nodes that joined, left or were drained.
func (l *ownershipLog) notePeers(before, after []Peer) {
	find := func(list []Peer, p Peer) (Peer, bool) {
		i := slices.IndexFunc(list, func(q Peer) bool { return q.Name == p.Name && q.Nonce == p.Nonce })
		if i < 0 {
			return Peer{}, false
		}
		return list[i], true
	}
	for _, p := range before {
		if _, stays := find(after, p); !stays {
			l.note(p.Name + " left")
		}
	}
	for _, p := range after {
		switch old, was := find(before, p); {
		case !was:
			l.note(p.Name + " joined")
		case !old.Draining && p.Draining:
			l.note(p.Name + " is being drained")
		case old.Draining && !p.Draining:
			l.note("the drain of " + p.Name + " ended")
		}
	}
}

// write logs the change if no further change is expected, or if the change has
// not been logged for a while.
func (l *ownershipLog) write(log *slog.Logger, now time.Time, o *Member) {
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
	case held == l.logged && settled:
		l.since, l.why = time.Time{}, nil
		return
	case held == l.logged:
		return
	case l.since.IsZero():
		l.since = now
	}
	if !settled && now.Sub(l.since) < logEvery/6 {
		return
	}
	log.Info("shard ownership changed", "shards", held, "before", l.logged, "wanted", wanted, "of", len(o.states), "nodes", len(o.peers), "because", l.because(held))
	*l = ownershipLog{logged: held}
}
