package registry

import (
	"context"
	"log/slog"
	"sync"

	"github.com/foliot/foliot/internal/store/membership"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

// Config connects a Member to the store.
type Config struct {
	membership.Config // without Shards, Acquired, Note and UntilNext

	Suspect func(error) // is called with the replies of scripts that compare the identity of the store

	OnWakeup func(message string) // is called with each message on the channel of an owned shard
}

// Member is this process among the nodes.
type Member struct {
	*membership.Member
	registry  *registry
	config    Config
	listeners sync.WaitGroup // on the channels of owned shards
}

// New returns a process that owns no shards, until the caller calls Join or
// TakeAll.
func New(c Config, servers *redisconn.Servers, shards []*keyspace.Shard) *Member {
	m := &Member{
		config:   c,
		registry: &registry{servers: servers, shards: shards, suspect: c.Suspect, log: c.Logger},
	}
	c.Shards, c.Acquired, c.Note, c.UntilNext = len(shards), m.acquired, servers.Failures.Note, servers.UntilNext
	c.Sums = m.registry
	m.Member = membership.New(c.Config, m.registry)
	return m
}

// acquired implements membership.Config, and listens to the shard's channel until
// the shard is lost.
func (m *Member) acquired(o *membership.Owned) (lost func()) {
	ctx, stop := context.WithCancel(context.Background())
	if o.ID != "" { // with one process, no other node sends messages
		m.listeners.Go(func() { m.Listen(ctx, m.registry.shards[o.Shard].Wake, m.config.OnWakeup) })
	}
	return stop
}

// Shard returns sh if this process owns it, otherwise nil.
func (m *Member) Shard(sh *keyspace.Shard) *membership.Owned { return m.Owns(sh.Number) }

// Shards returns the keys of the shards that this process owns.
func (m *Member) Shards() (all []*keyspace.Shard) {
	for _, h := range m.Owned() {
		all = append(all, m.registry.shards[h.Shard])
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
