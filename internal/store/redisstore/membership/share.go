package membership

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Who owns which shard is decided here, from what a node knows, without a clock
// and without asking anybody. Nodes that know the same live nodes agree; those
// that do not are kept apart by the shards' leases.

// lives reports whether p's last heartbeat is at most silence old.
func (p *peer) lives(now task.Millis, silence time.Duration) bool { return now.Sub(p.beat) <= silence }

// livePeers returns those of peers that live, in their order, without duplicates.
func livePeers(peers []peer, now task.Millis, silence time.Duration) (live []peer) {
	for _, p := range peers {
		if !p.duplicate && p.lives(now, silence) {
			live = append(live, p)
		}
	}
	return live
}

// takers returns the names of those of the live nodes that share the shards: who
// is not drained; where all are, who was not forced to leave them to nobody.
func takers(live []peer) (names []string) {
	spare := []string{}
	for _, p := range live {
		switch {
		case !p.draining:
			names = append(names, p.name)
		case !p.forced:
			spare = append(spare, p.name)
		}
	}
	if names == nil {
		return spare
	}
	return names
}

// allot returns the node that is to own each of n shards, "" where there are no
// nodes: the one whose hash with the shard is the highest, of those that have not
// got their fill. A node that comes takes its part from all others evenly, and one
// that goes gives it to all others; a few shards more change hands, since a fill is
// a tenth more than an even share: by hashes alone one of three nodes would have
// less than a quarter, or more than two fifths, with one set of names in a hundred.
func allot(nodes []string, n int) []string {
	owners := make([]string, n)
	if len(nodes) == 0 {
		return owners
	}
	fill, got := (11*n+10*len(nodes)-1)/(10*len(nodes)), make([]int, len(nodes))
	for shard := range owners {
		best, most := -1, uint64(0)
		for i, node := range nodes {
			weight := weight(node, shard)
			if got[i] < fill && (best < 0 || weight > most || weight == most && node < nodes[best]) {
				best, most = i, weight
			}
		}
		owners[shard] = nodes[best]
		got[best]++
	}
	return owners
}

func weight(node string, shard int) uint64 {
	sum := sha256.Sum256([]byte(strconv.Itoa(shard) + "/" + node))
	return binary.BigEndian.Uint64(sum[:8])
}

// wanted says of each of n shards whether self is to own it.
func wanted(nodes []string, self string, n int) []bool {
	mine := make([]bool, n)
	for i, owner := range allot(nodes, n) {
		mine[i] = owner == self
	}
	return mine
}

// claimState is what a process knows of who owns a shard.
type claimState struct {
	held  bool      // by this process
	since time.Time // the last acquisition, or renewal, or try of one
	until time.Time // until when whoever owns it does so, unless that is renewed; zero: nobody known
}

// pace is how often things are done about shards.
type pace struct {
	renew time.Duration // a lease is renewed when it is so old
	retry time.Duration // a shard that another owns is asked for: it may have been released
}

// plan is what a process is to do about shards.
type plan struct {
	acquire, renew, release []int
	next                    time.Time // when to plan again; zero: no need to
}

// planFor says what is to be done now. With eager, a shard that another owned
// when it was last asked for is asked for at once.
func planFor(now time.Time, mine []bool, shards []claimState, p pace, eager bool) (out plan) {
	later := func(at time.Time) {
		if out.next.IsZero() || at.Before(out.next) {
			out.next = at
		}
	}
	for i, c := range shards {
		at := c.since.Add(p.renew)
		if !c.held {
			at = c.since.Add(p.retry)
			if c.until.Before(at) {
				at = c.until
			}
		}
		due := !now.Before(at)
		switch {
		case c.held && !mine[i]:
			out.release = append(out.release, i)
		case c.held && due:
			out.renew = append(out.renew, i)
		case !c.held && mine[i] && (due || eager):
			out.acquire = append(out.acquire, i)
		case c.held || mine[i]:
			later(at)
		}
	}
	return out
}
