package membership

import (
	"log/slog"
	"time"
)

// logEvery is the shortest time between two log lines about the same.
const logEvery = time.Minute

// ownershipLog collects changes of the owned shards until they are logged: one
// line when the node owns the shards that it should own.
type ownershipLog struct {
	logged int       // the number of shards in the last line
	since  time.Time // when the number first differed from that; zero means that it does not differ
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
		l.since = time.Time{}
		return
	case held == l.logged:
		return
	case l.since.IsZero():
		l.since = now
	}
	if !settled && now.Sub(l.since) < logEvery/6 {
		return
	}
	log.Info("shard ownership changed", "shards", held, "before", l.logged, "wanted", wanted, "of", len(o.states), "nodes", len(o.peers))
	*l = ownershipLog{logged: held}
}
