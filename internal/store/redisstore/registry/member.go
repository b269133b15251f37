package registry

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/foliot/foliot/internal/store/lowwater"
	"github.com/foliot/foliot/internal/store/membership"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

// OwnedShard is a shard that this process owns. If the shard is lost and acquired
// again, a new OwnedShard replaces it.
type OwnedShard struct {
	*keyspace.Shard
	*membership.Owned
	Lowwater *lowwater.Set // holds the shard's lanes if Ready
	Polled   atomic.Int64  // the number of lanes that the poll has read in this round
}

// Config connects a Member to the store.
type Config struct {
	membership.Config // without Shards, Acquired, Prepare, Note and UntilNext

	Suspect func(error) // is called with the replies of scripts that compare the identity of the store

	// Prepare is called with shards that this process has acquired, reads their
	// lanes and sets Ready.
	Prepare func(context.Context, []*OwnedShard) error

	// OnWakeup is called with each message on the channel of an owned shard.
	OnWakeup func(h *OwnedShard, message string)
}

// Member is this process among the nodes.
type Member struct {
	*membership.Member
	registry  *registry
	config    Config
	shards    []atomic.Pointer[OwnedShard] // the index is the shard; nil means not owned
	Lowwater  *lowwater.Group              // the low-water marks of the owned shards
	listeners sync.WaitGroup               // on the channels of owned shards
}

// New returns a process that owns no shards, until the caller calls Join or
// TakeAll.
func New(c Config, servers *redisconn.Servers, shards []*keyspace.Shard) *Member {
	m := &Member{
		config: c, shards: make([]atomic.Pointer[OwnedShard], len(shards)), Lowwater: lowwater.NewGroup(),
		registry: &registry{servers: servers, shards: shards, suspect: c.Suspect, log: c.Logger},
	}
	c.Shards, c.Acquired, c.Note, c.UntilNext = len(shards), m.acquired, servers.Failures.Note, servers.UntilNext
	c.Config.Prepare = m.prepare
	m.Member = membership.New(c.Config, m.registry)
	return m
}

// acquired implements membership.Config, and listens to the shard's channel until
// the shard is lost.
func (m *Member) acquired(o *membership.Owned) (lost func()) {
	h := &OwnedShard{Shard: m.registry.shards[o.Shard], Owned: o, Lowwater: m.Lowwater.New(o.Shard)}
	ctx, stop := context.WithCancel(context.Background())
	if o.ID != "" { // with one process, no other node sends messages
		m.listeners.Go(func() { m.Listen(ctx, h.Wake, func(message string) { m.config.OnWakeup(h, message) }) })
	}
	m.shards[o.Shard].Store(h)
	return func() {
		m.shards[o.Shard].CompareAndSwap(h, nil)
		stop()
		h.Lowwater.Leave()
	}
}

func (m *Member) prepare(ctx context.Context, owned []*membership.Owned) error {
	list := make([]*OwnedShard, 0, len(owned))
	for _, o := range owned {
		if h := m.shards[o.Shard].Load(); h != nil && h.Owned == o {
			list = append(list, h)
		}
	}
	return m.config.Prepare(ctx, list)
}

// of returns the shard of an Owned, which is nil if it is nil or has been lost.
func (m *Member) of(o *membership.Owned) *OwnedShard {
	if o == nil {
		return nil
	}
	if h := m.shards[o.Shard].Load(); h != nil && h.Owned == o {
		return h
	}
	return nil
}

// Shard returns sh as an OwnedShard, nil if this process does not own it.
func (m *Member) Shard(sh *keyspace.Shard) *OwnedShard { return m.of(m.Owns(sh.Number)) }

// Owned returns the shards of this process, without those that are not Ready.
func (m *Member) Owned() []*OwnedShard {
	owned := m.Member.Owned()
	all := make([]*OwnedShard, 0, len(owned))
	for _, o := range owned {
		if h := m.of(o); h != nil {
			all = append(all, h)
		}
	}
	return all
}

// Shards returns the keys of the shards that this process owns.
func (m *Member) Shards() (all []*keyspace.Shard) {
	for _, h := range m.Owned() {
		all = append(all, h.Shard)
	}
	return all
}

// Owner returns the owner id for writes to sh that only its owner is allowed to
// make.
func (m *Member) Owner(sh *keyspace.Shard) string { return m.Member.Owner(sh.Number) }

// Leases returns the lease of every shard.
func (m *Member) Leases(ctx context.Context) ([]membership.Lease, error) {
	return m.registry.Owners(ctx)
}

// Wait waits until the loop and the listeners have ended, after Release.
func (m *Member) Wait() {
	<-m.Ended
	m.listeners.Wait()
}

// Listen calls notify for each message of a channel until ctx ends. Messages get
// lost while a connection or a server is replaced, so no part of the store may
// depend on them.
func (m *Member) Listen(ctx context.Context, channel string, notify func(message string)) {
	m.registry.listen(ctx, channel, notify)
}

// registry is the membership.Registry in Redis.
type registry struct {
	servers *redisconn.Servers
	shards  []*keyspace.Shard
	suspect func(error)
	log     *slog.Logger
	refused sync.Once // a refused subscription was logged
}
