package redisstore

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// standing returns what this process knows of its place among the nodes. It asks no server.
func (o *ownership) standing() task.Standing {
	return task.Standing{
		Shards: len(o.shards), Owned: len(o.owned()), Nodes: int(o.nodes.Load()),
		Takeovers: o.takeovers.Load(), Lost: o.lost.Load(), Rollbacks: o.rollbacks.Load(), NameTaken: o.twin.Load(),
	}
}

// list returns all nodes, and how many shards each owns and should own.
func (o *ownership) list(ctx context.Context) ([]task.Node, error) {
	h, err := o.beat(ctx, looks)
	if err != nil {
		return nil, err
	}
	owners, err := o.leases(ctx)
	if err != nil {
		return nil, err
	}
	now := h.now
	peers := slices.DeleteFunc(h.peers, func(p peer) bool { return p.twin && !p.lives(now, o.config.silence()) }) // nothing waits for its end
	wanted, owned := map[string]int{}, map[string]int{}
	for _, node := range allot(takers(livePeers(peers, now, o.config.silence())), len(o.shards)) {
		wanted[node]++
	}
	for _, l := range owners {
		if l.until > now {
			owned[l.process]++
		}
	}
	all := make([]task.Node, len(peers))
	for i, p := range peers {
		all[i] = task.Node{
			Name: p.name, Self: p.nonce == o.self.nonce, Version: p.version, Address: p.address, StartedAt: p.started, BeatAt: p.beat,
			Live: p.lives(now, o.config.silence()), Draining: p.draining, Owned: owned[p.process()], NameTaken: p.twin,
		}
		if !p.twin {
			all[i].Wanted = wanted[p.name]
		}
	}
	return all, nil
}

// alone returns this node, where it is the only one.
func (o *ownership) alone(now task.Millis) task.Node {
	p := o.self
	return task.Node{
		Name: p.name, Self: true, Version: p.version, Address: p.address, StartedAt: p.started, BeatAt: now,
		Live: true, Owned: len(o.shards), Wanted: len(o.shards),
	}
}

// lease is who owns a shard, as its own key says.
type lease struct {
	process string // <node>/<nonce>; "": nobody
	until   task.Millis
	epoch   uint64
}

// leases returns the lease of every shard.
func (o *ownership) leases(ctx context.Context) ([]lease, error) {
	all := make([]lease, len(o.shards))
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

func readLease(r rueidis.RedisResult) (lease, error) {
	fields, err := r.AsStrSlice()
	if err != nil {
		return lease{}, err
	}
	if len(fields) != 3 {
		return lease{}, errDamaged
	}
	var l lease
	if i := strings.LastIndexByte(fields[0], '/'); i >= 0 {
		l.process = fields[0][:i]
	}
	until, _ := strconv.ParseInt(fields[1], 10, 64) // what is missing is 0
	l.until = task.Millis(until)
	l.epoch, _ = strconv.ParseUint(fields[2], 10, 64)
	return l, nil
}

// nodesShard stands for the slot of the nodes' keys. It is no shard of tasks: of its
// keys there are the seal and the bearer of the identity alone.
var nodesShard = &keyspace.Shard{Number: -1, Prefix: "foliot:{" + keyspace.NodesKey + "}:", Slot: keyspace.SlotOf(keyspace.NodesKey), Own: keyspace.NodesID}

// drain writes or ends a drain, and appends entry to the audit log of the nodes if it changes
// something. That log keeps at most so many entries; with 0 there is none.
func (o *ownership) drain(ctx context.Context, d task.Drain, entries int, entry string) error {
	verb := "drain"
	switch {
	case d.Undo:
		verb = "undo"
	case d.Force:
		verb = "force"
	}
	one := redisconn.Run{Keys: []string{keyspace.NodesKey, keyspace.NodesLog}, Args: []string{
		d.Node, verb, strconv.FormatInt(o.config.silence().Milliseconds(), 10), strconv.Itoa(entries), entry,
	}}
	replies, err := o.servers.Write(ctx, drain, []*keyspace.Shard{nodesShard}, []redisconn.Run{one})
	if err != nil {
		return err
	}
	switch word, _ := replies[0][0].ToString(); word { // a number is none
	case "missing":
		return &task.MissingError{What: "node", Name: d.Node}
	case "last":
		return task.ErrLastNode
	}
	o.announce(ctx)
	return nil
}
