package membership

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// Standing returns this process's view of its place among the nodes. It calls
// no server.
func (o *Member) Standing() store.Standing {
	return store.Standing{
		Node:   o.self.name,
		Shards: len(o.shards), Owned: len(o.Owned()), Nodes: int(o.nodes.Load()),
		Takeovers: o.takeovers.Load(), Lost: o.lost.Load(), NameTaken: o.duplicate.Load(),
	}
}

// Nodes returns all nodes, and how many shards each owns and should own.
func (o *Member) Nodes(ctx context.Context) ([]store.Node, error) {
	h, err := o.beat(ctx, readAll)
	if err != nil {
		return nil, err
	}
	owners, err := o.Leases(ctx)
	if err != nil {
		return nil, err
	}
	now := h.now
	wanted, owned := map[string]int{}, map[string]int{}
	for _, l := range owners {
		if l.Until > now {
			owned[l.Process]++
		}
	}
	live := livePeers(h.peers, now, o.config.silence())
	// No row is for a duplicate that has ended, or for a node that a new one has replaced.
	peers := slices.DeleteFunc(h.peers, func(p peer) bool {
		return !p.lives(now, o.config.silence()) && (p.duplicate || owned[p.process()] == 0 && slices.ContainsFunc(live, p.isReplacedBy))
	})
	for _, node := range allot(takers(live), len(o.shards)) {
		wanted[node]++
	}
	all := make([]store.Node, len(peers))
	for i, p := range peers {
		all[i] = store.Node{
			Name: p.name, Self: p.nonce == o.self.nonce, Version: p.version, Address: p.address, StartedAt: p.started, BeatAt: p.beat,
			Live: p.lives(now, o.config.silence()), Draining: p.draining, Owned: owned[p.process()], NameTaken: p.duplicate,
		}
		if !p.duplicate {
			all[i].Wanted = wanted[p.name]
		}
	}
	return all, nil
}

// Behind returns the names of the other nodes that have not applied this version
// of the settings or a later one. A node that is silent is asked for as long as it
// may begin an attempt that it had claimed.
func (o *Member) Behind(ctx context.Context, version string) (names []string, err error) {
	h, err := o.beat(ctx, readOnly)
	for _, p := range h.peers {
		if p.lives(h.now, max(o.config.ShardLease, store.ClaimFor)) && p.nonce != o.self.nonce && p.applied < version {
			names = append(names, p.name)
		}
	}
	return slices.Compact(names), err
}

// isReplacedBy reports whether the later process n has the address of p. A
// loopback address proves nothing: each machine has it.
func (p *peer) isReplacedBy(n peer) bool {
	return p.address == n.address && !isLoopback(n.address) && n.started > p.started
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

// Alone returns this node for a store without other nodes.
func (o *Member) Alone(now task.Millis) store.Node {
	p := o.self
	return store.Node{
		Name: p.name, Self: true, Version: p.version, Address: p.address, StartedAt: p.started, BeatAt: now,
		Live: true, Owned: len(o.shards), Wanted: len(o.shards),
	}
}

// Lease is the ownership of a shard, read from the shard's own key.
type Lease struct {
	Process string // <node>/<nonce>; empty means no owner
	Until   task.Millis
	Epoch   uint64
}

// Leases returns the lease of every shard.
func (o *Member) Leases(ctx context.Context) ([]Lease, error) {
	all := make([]Lease, len(o.shards))
	replies, err := o.servers.EachShard(ctx, o.shards, ownedBy)
	if err != nil {
		return nil, err
	}
	for i, r := range replies {
		if all[i], err = readLease(r); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func ownedBy(b rueidis.Builder, sh *keyspace.Shard) rueidis.Completed {
	return b.Hmget().Key(sh.Own).Field("id", "until", "epoch").Build()
}

func readLease(r rueidis.RedisResult) (Lease, error) {
	fields, err := r.AsStrSlice()
	if err != nil {
		return Lease{}, err
	}
	if len(fields) != 3 {
		return Lease{}, errDamaged
	}
	var l Lease
	if i := strings.LastIndexByte(fields[0], '/'); i >= 0 {
		l.Process = fields[0][:i]
	}
	until, _ := strconv.ParseInt(fields[1], 10, 64) // a missing field is 0
	l.Until = task.Millis(until)
	l.Epoch, _ = strconv.ParseUint(fields[2], 10, 64)
	return l, nil
}

// Drain starts or ends a drain. If that changes anything, it appends entry to
// the audit log of the nodes. That log keeps at most entries entries; with 0
// there is no log.
func (o *Member) Drain(ctx context.Context, d store.Drain, entries int, entry string) error {
	verb := "drain"
	switch {
	case d.Undo:
		verb = "undo"
	case d.Force:
		verb = "force"
	}
	one := redisconn.Run{Keys: []string{o.servers.Keys.Nodes, o.servers.Keys.NodesLog}, Args: []string{
		d.Node, verb, strconv.FormatInt(o.config.silence().Milliseconds(), 10), strconv.Itoa(entries), entry,
	}}
	replies, err := o.servers.Write(ctx, drain, []*keyspace.Shard{o.servers.Keys.NodesShard()}, []redisconn.Run{one})
	if err != nil {
		return err
	}
	switch word, _ := replies[0][0].ToString(); word { // the script returns a number on success
	case "missing":
		return &settings.MissingError{What: "node", Name: d.Node}
	case "last":
		return store.ErrLastNode
	}
	o.announce(ctx)
	return nil
}
