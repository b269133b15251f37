package membership

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// These functions decide which node should own which shard. They use only the
// node's own knowledge: no clock and no calls. Nodes that know the same live nodes
// agree, and if they know different ones, the leases of the shards keep them apart.

// lives reports whether p's last heartbeat is at most silence old.
func (p *Peer) lives(now task.Millis, silence time.Duration) bool {
	return !p.Dead && now.Sub(p.Beat) <= silence
}

// livePeers returns the live peers in their order, without duplicates.
func livePeers(peers []Peer, now task.Millis, silence time.Duration) (live []Peer) {
	for _, p := range peers {
		if !p.Duplicate && p.lives(now, silence) {
			live = append(live, p)
		}
	}
	return live
}

// takers returns the names of the live nodes that share the shards: those that
// are not drained. If all are drained, it returns those that were not
// drained by force.
func takers(live []Peer) (names []string) {
	spare := []string{}
	for _, p := range live {
		switch {
		case !p.Draining:
			names = append(names, p.Name)
		case !p.Forced:
			spare = append(spare, p.Name)
		}
	}
	if names == nil {
		return spare
	}
	return names
}

// allot returns the node that should own each of n shards, "" if there are no
// nodes. It is the node that has the highest hash with the shard, among the nodes
// that are not full. A node that joins takes its share from all other nodes, and a
// node that leaves gives its share to all other nodes. The shares differ by at most
// one shard.
func allot(nodes []string, n int) []string {
	owners := make([]string, n)
	if len(nodes) == 0 {
		return owners
	}
	hashes := hashesOf(nodes)
	room := rooms(nodes, hashes, n)
	for shard := range owners {
		best, most := -1, uint64(0)
		for i, node := range nodes {
			weight := weight(hashes[i], shard)
			if room[i] > 0 && (best < 0 || weight > most || weight == most && node < nodes[best]) {
				best, most = i, weight
			}
		}
		owners[shard] = nodes[best]
		room[best]--
	}
	return owners
}

// rooms returns how many of n shards each node can own.
func rooms(nodes []string, hashes []uint64, n int) []int {
	room := make([]int, len(nodes))
	order := make([]int, len(nodes)) // the first nodes get one shard more
	for i := range nodes {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(hashes[a], hashes[b]), cmp.Compare(nodes[a], nodes[b]))
	})
	for rank, i := range order {
		room[i] = n / len(nodes)
		if rank < n%len(nodes) {
			room[i]++
		}
	}
	return room
}

func hashesOf(nodes []string) []uint64 {
	hashes := make([]uint64, len(nodes))
	for i, node := range nodes {
		sum := sha256.Sum256([]byte(node))
		hashes[i] = binary.BigEndian.Uint64(sum[:8])
	}
	return hashes
}

// weight mixes the hash of a node with a shard, by the finisher of SplitMix64
// (Steele, Lea and Flood), applied to each of them.
func weight(node uint64, shard int) uint64 { return mix(node ^ mix(uint64(shard)+1)) }

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// shares returns for each of n shards whether self should own it, and otherwise how
// many nodes have a higher weight than self, without the owner.
func shares(nodes []string, self string, n int) (mine []bool, ranks []int) {
	mine, ranks = make([]bool, n), make([]int, n)
	hashes, at := hashesOf(nodes), slices.Index(nodes, self)
	for i, owner := range allot(nodes, n) {
		if mine[i] = owner == self; mine[i] || at < 0 {
			continue
		}
		own := weight(hashes[at], i)
		for k, h := range hashes {
			if nodes[k] != owner && weight(h, i) > own {
				ranks[i]++
			}
		}
	}
	return mine, ranks
}

// claimState is a process's knowledge of the ownership of a shard.
type claimState struct {
	held  bool      // this process owns the shard
	since time.Time // the last attempt to acquire or renew it
	until time.Time // the end of the known owner's lease, unless it is renewed; zero means that no owner is known

	// The registry may have this process as the owner, whose heartbeats renew the lease
	// for ever: see Config.BeatRenews. So the process must hold the shard or release it.
	listed bool
}

// pace holds the times between actions on shards.
type pace struct {
	renew time.Duration // a lease of this age is renewed
	retry time.Duration // after this time a shard of another node is asked for again, because it may have been released
}

// plan lists the next actions of a process on its shards.
type plan struct {
	acquire, renew, release []int
	next                    time.Time // when to plan again; zero means that there is no need
}

// planFor returns the actions that are due now, and if eager is true, it asks again
// at once for shards that another node owned.
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
		case !mine[i] && (c.held || c.listed && due):
			out.release = append(out.release, i)
		case c.held && due:
			out.renew = append(out.renew, i)
		case !c.held && mine[i] && (due || eager):
			out.acquire = append(out.acquire, i)
		case c.held || mine[i] || c.listed:
			later(at)
		}
	}
	return out
}
