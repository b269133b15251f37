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

var _ task.Cluster = (*Store)(nil)

// Standing implements task.Cluster.
func (s *Store) Standing() task.Standing {
	return task.Standing{
		Shards: len(s.shards), Owned: len(s.owned()), Nodes: int(s.own.nodes.Load()),
		Takeovers: s.own.takeovers.Load(), Lost: s.own.lost.Load(), Rollbacks: s.own.rollbacks.Load(), NameTaken: s.own.twin.Load(), Closed: s.lost() != nil, Unfit: s.servers.Unfit.Load() != nil,
	}
}

// Nodes implements task.Cluster.
func (s *Store) Nodes(ctx context.Context) ([]task.Node, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if s.config.Alone {
		return []task.Node{s.alone()}, nil
	}
	h, err := s.beat(ctx, looks)
	if err != nil {
		return nil, s.failure(err)
	}
	owners, err := s.owners(ctx)
	if err != nil {
		return nil, s.failure(err)
	}
	now := h.now
	peers := slices.DeleteFunc(h.peers, func(p peer) bool { return p.twin && !p.lives(now, s.config.silence()) }) // nothing waits for its end
	wanted, owned := map[string]int{}, map[string]int{}
	for _, node := range allot(takers(livePeers(peers, now, s.config.silence())), len(s.shards)) {
		wanted[node]++
	}
	for _, o := range owners {
		if o.until > now {
			owned[o.process]++
		}
	}
	all := make([]task.Node, len(peers))
	for i, p := range peers {
		all[i] = task.Node{
			Name: p.name, Self: p.nonce == s.own.self.nonce, Version: p.version, Address: p.address, StartedAt: p.started, BeatAt: p.beat,
			Live: p.lives(now, s.config.silence()), Draining: p.draining, Owned: owned[p.process()], NameTaken: p.twin,
		}
		if !p.twin {
			all[i].Wanted = wanted[p.name]
		}
	}
	return all, nil
}

// alone returns this node, where it is the only one.
func (s *Store) alone() task.Node {
	p := s.own.self
	return task.Node{
		Name: p.name, Self: true, Version: p.version, Address: p.address, StartedAt: p.started, BeatAt: s.now(),
		Live: true, Owned: len(s.shards), Wanted: len(s.shards),
	}
}

// lease is who owns a shard, as its own key says.
type lease struct {
	process string // <node>/<nonce>; "": nobody
	until   task.Millis
	epoch   uint64
}

// owners returns the lease of every shard.
func (s *Store) owners(ctx context.Context) ([]lease, error) {
	all := make([]lease, len(s.shards))
	replies, err := s.eachShard(ctx, ownedBy)
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

// Shards implements task.Cluster.
func (s *Store) Shards(ctx context.Context) ([]task.Shard, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	all, err := s.readShards(ctx)
	return all, s.failure(err)
}

func (s *Store) readShards(ctx context.Context) ([]task.Shard, error) {
	owners, err := s.owners(ctx)
	if err != nil {
		return nil, err
	}
	now, all := s.now(), make([]task.Shard, len(s.shards))
	for i, o := range owners {
		all[i] = task.Shard{Number: i, Epoch: o.epoch}
		if o.until > now {
			all[i].Owner, _, _ = strings.Cut(o.process, "/")
			all[i].Until = o.until
		}
	}
	running, err := s.eachShard(ctx, func(b rueidis.Builder, sh *keyspace.Shard) rueidis.Completed {
		return b.Zcard().Key(sh.Running).Build()
	})
	if err != nil {
		return nil, err
	}
	for i, r := range running {
		n, err := r.AsInt64()
		if err != nil {
			return nil, err
		}
		all[i].Running = int(n)
	}
	heads, err := s.eachShard(ctx, func(b rueidis.Builder, sh *keyspace.Shard) rueidis.Completed {
		return b.Zrange().Key(sh.Lanes).Min("0").Max("0").Withscores().Build()
	})
	if err != nil {
		return nil, err
	}
	for i, r := range heads {
		first, err := r.AsZScores()
		if err != nil {
			return nil, err
		}
		if len(first) > 0 {
			all[i].NextDue = task.Millis(first[0].Score)
		}
	}
	return all, nil
}

// nodesShard stands for the slot of the nodes' keys. It is no shard of tasks: of its
// keys there are the seal and the bearer of the identity alone.
var nodesShard = &keyspace.Shard{Number: -1, Prefix: "foliot:{" + keyspace.NodesKey + "}:", Slot: keyspace.SlotOf(keyspace.NodesKey), Own: keyspace.NodesID}

// Drain implements task.Cluster.
func (s *Store) Drain(ctx context.Context, now task.Millis, d task.Drain) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	entry := task.AuditDrain(now, task.ActorOf(ctx), d)
	verb := "drain"
	switch {
	case d.Undo:
		verb = "undo"
	case d.Force:
		verb = "force"
	}
	one := redisconn.Run{Keys: []string{keyspace.NodesKey, keyspace.NodesLog}, Args: []string{
		d.Node, verb, strconv.FormatInt(s.config.silence().Milliseconds(), 10), strconv.Itoa(s.config.auditLength(maxSettingsEntries)), encodeEntry(&entry),
	}}
	replies, err := s.servers.Write(ctx, drain, []*keyspace.Shard{nodesShard}, []redisconn.Run{one})
	if err != nil {
		return s.failure(err)
	}
	switch word, _ := replies[0][0].ToString(); word { // a number is none
	case "missing":
		return &task.MissingError{What: "node", Name: d.Node}
	case "last":
		return task.ErrLastNode
	}
	s.announce(ctx)
	return nil
}
