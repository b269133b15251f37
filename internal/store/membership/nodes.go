package membership

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/store"
)

// Standing returns this process's view of its place among the nodes, as of the last
// step of the loop, without a request.
func (m *Member) Standing() store.Membership {
	return store.Membership{
		Node:   m.self.Name,
		Shards: len(m.owned), Owned: int(m.counted.Load()), Nodes: int(m.nodes.Load()),
		Lost: m.lost.Load(), NameTaken: m.duplicate.Load(),
	}
}

// Nodes returns all nodes, and how many shards each owns and should own.
func (m *Member) Nodes(ctx context.Context) ([]store.Node, error) {
	if m.alone {
		p := m.self
		return []store.Node{{
			Name: p.Name, Self: true, Version: p.Version, Address: p.Address, StartedAt: p.Started, BeatAt: m.config.Now(),
			Live: true, Owned: len(m.owned), Wanted: len(m.owned),
		}}, nil
	}
	h, err := m.beat(ctx, ReadAll)
	if err != nil {
		return nil, err
	}
	owners, err := m.registry.Owners(ctx)
	if err != nil {
		return nil, err
	}
	now := h.Now
	wanted, owned := map[string]int{}, map[string]int{}
	for _, l := range owners {
		if l.Until > now {
			owned[l.Process()]++
		}
	}
	live := livePeers(h.Peers, now, m.config.Silence())
	// No row is for a duplicate that has ended, or for a node that a new one has replaced.
	peers := slices.DeleteFunc(h.Peers, func(p Peer) bool {
		return !p.lives(now, m.config.Silence()) && (p.Duplicate || owned[p.Process()] == 0 && slices.ContainsFunc(live, p.isReplacedBy))
	})
	for _, node := range allot(takers(live), len(m.owned)) {
		wanted[node]++
	}
	all := make([]store.Node, len(peers))
	for i, p := range peers {
		all[i] = store.Node{
			Name: p.Name, Self: p.Nonce == m.self.Nonce, Version: p.Version, Address: p.Address, StartedAt: p.Started, BeatAt: p.Beat,
			Live: p.lives(now, m.config.Silence()), Draining: p.Draining, Owned: owned[p.Process()], NameTaken: p.Duplicate,
		}
		if !p.Duplicate {
			all[i].Wanted = wanted[p.Name]
		}
	}
	return all, nil
}

// The roles of nodes.
const foliotServe, aProgram = "foliot serve", "a program"

// checkRoles returns an error if a live node has another role than this one. Each node owns
// shards, and foliot serve runs no tasks with a kind.
func (m *Member) checkRoles(live []Peer) error {
	for _, p := range live {
		if p.Role != "" && p.Role != m.self.Role {
			return fmt.Errorf("the node %q at %s is %s, and this one is %s: each owns a part of the tasks, and tasks with a kind wait in foliot serve: stop one of them, or give it a schema or a prefix of its own", p.Name, p.where(), p.Role, m.self.Role)
		}
	}
	return nil
}

// AwaitApplied waits until all other live nodes have applied this version of the
// settings or a later one, and returns the names of those that have not when ctx ends.
// A node that is silent counts for as long as it may begin an attempt that it had
// claimed. pause returns false when ctx or the store ends; the time between reads doubles.
func (m *Member) AwaitApplied(ctx context.Context, version string, pause func(context.Context, time.Duration) bool) (left []string, err error) {
	for wait := firstLook; ; wait = min(2*wait, lastLook) {
		found, err := m.beat(ctx, ReadOnly)
		if err == nil {
			left = nil
			for _, p := range found.Peers {
				if p.lives(found.Now, max(m.config.Lease, store.ClaimFor)) && p.Nonce != m.self.Nonce && p.Applied < version {
					left = append(left, p.Name)
				}
			}
			left = slices.Compact(left)
		} else if left == nil {
			return nil, err
		}
		if len(left) == 0 || !pause(ctx, wait) {
			return left, nil
		}
	}
}

const firstLook, lastLook = 2 * time.Millisecond, 50 * time.Millisecond

// isReplacedBy reports whether the later process n has the address of p, unless that is
// a loopback address, which each machine has.
func (p *Peer) isReplacedBy(n Peer) bool {
	return p.Address == n.Address && !isLoopback(n.Address) && n.Started > p.Started
}

// isLoopback reports whether the address host:port is only valid on one machine,
// or is missing.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address == ""
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// APIs returns host:port of the peer's APIs.
func (p *Peer) APIs() []string {
	return append(strings.FieldsFunc(p.More, func(r rune) bool { return r == ',' }), p.Address)
}
