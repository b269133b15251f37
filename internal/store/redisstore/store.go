package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/store/membership"
	"github.com/foliot/foliot/internal/store/quota"
	"github.com/foliot/foliot/internal/store/redisstore/identity"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/lanes"
	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/store/redisstore/registry"
	"github.com/foliot/foliot/internal/store/redisstore/scrub"
	"github.com/foliot/foliot/internal/store/serverclock"
	"github.com/foliot/foliot/internal/task"
)

var _ store.Store = (*Store)(nil)

// Config configures a Store.
type Config struct {
	// Client names the servers. Required.
	Client rueidis.ClientOption

	// Prefix is the first word of all keys and channels, so stores with different
	// prefixes in the same servers share nothing. Default: keyspace.DefaultPrefix.
	Prefix string

	// Shards is the number of shards, which the first node that opens a store
	// decides. Any other node must pass the same number or none. Default: the stored
	// number; in a new store identity.DefaultShards.
	Shards int

	// Durability defines the meaning of a nil error of a mutation. Default:
	// Default.
	Durability redisconn.Durability

	// Unsafe accepts servers that lose tasks: they delete keys when memory is
	// full, keep no append-only file, or do not sync it as Durability needs.
	Unsafe bool

	// ShardLease is how long a node keeps its shards without a heartbeat: a dead node
	// delays its tasks by up to this long. Heartbeat is the time between heartbeats.
	// LanePoll is the time between two searches for tasks that other nodes have added
	// to this node's shards. All nodes must use the same values. Defaults: 6 s; a
	// sixth of ShardLease, at most 1 s; 250 ms.
	ShardLease, Heartbeat, LanePoll time.Duration

	// Alone means that no other process uses the servers: this process owns all
	// shards, without leases.
	Alone bool

	// An Embedded store uses the shard lease that an existing store has.
	store.Shared
}

func (c Config) withDefaults() Config {
	c.Durability = cmp.Or(c.Durability, redisconn.Default)
	c.Shared = c.Shared.WithDefaults()
	c.ShardLease = cmp.Or(c.ShardLease, 6*time.Second)
	c.Heartbeat = cmp.Or(c.Heartbeat, min(c.ShardLease/6, time.Second))
	c.LanePoll = cmp.Or(c.LanePoll, 250*time.Millisecond)
	c.Alone = c.Alone || c.CallersClock
	return c
}

// check returns an error if c cannot work. A node must be able to send several
// heartbeats before other nodes take it for dead, which they do after half a
// lease.
func (c Config) check() error {
	if err := c.Check(); err != nil {
		return fmt.Errorf("%w: %w", identity.ErrConfig, err)
	}
	switch {
	case c.Shards < 0 || c.Shards > keyspace.Slots:
		return fmt.Errorf("%w: %d shards: must be from 1 to %d", identity.ErrConfig, c.Shards, keyspace.Slots)
	case c.Heartbeat <= 0 || c.LanePoll <= 0 || c.ShardLease < 4*c.Heartbeat:
		return fmt.Errorf("%w: shard lease %v with a heartbeat every %v: the lease must be at least four times as long", identity.ErrConfig, c.ShardLease, c.Heartbeat)
	}
	return c.Durability.Check()
}

func (c Config) conn() redisconn.Config {
	return redisconn.Config{
		Client: c.Client, Prefix: c.Prefix, Durability: c.Durability,
		Unsafe: c.Unsafe, Embedded: c.Embedded, Subscribe: !c.Alone, Logger: c.Logger,
	}
}

// Store is a store.Store in Redis.
type Store struct {
	store.Watchers
	kernel.Queries
	*serverclock.Times

	config  Config
	servers *redisconn.Servers
	shards  []*keyspace.Shard
	member  *registry.Member

	records  *records.Reader
	claimed  kernel.Claimed[records.Record]
	quotas   quota.Quotas
	scrubber *scrub.Scrubber
	lanes    *lanes.Index
	settings atomic.Pointer[configuration]
	asks     atomic.Uint64 // numbers the asks for permits: the server ignores one that arrives after a newer one for the same scope
	identity *identity.Watch

	removing    sync.Mutex             // held while a namespace is removed; taken before configuring
	configuring sync.Mutex             // held while settings are changed and the watcher is called
	caughtUp    time.Time              // when the newest read of the settings by catchUp began; guarded by configuring
	applied     atomic.Pointer[string] // the version of the settings with which the watcher has returned; written under configuring
	edited      chan struct{}          // to followSettings: another node has changed the settings

	calls   store.Calls
	closing chan struct{}
	polled  chan struct{}
}

// Open opens the store that c names.
func Open(ctx context.Context, c Config) (*Store, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, err
	}
	servers, err := redisconn.Connect(ctx, c.conn())
	if err != nil {
		return nil, err
	}
	s, err := open(ctx, c, servers)
	if err != nil {
		servers.Close()
	}
	return s, err
}

// open reads the state of the store and starts its goroutines, but after an error
// none of them runs.
func open(ctx context.Context, c Config, servers *redisconn.Servers) (*Store, error) {
	m, err := identity.Agree(ctx, servers, identity.Requirements{Shards: c.Shards, Lease: c.ShardLease, AnyLease: c.Alone || c.Embedded})
	if err != nil {
		return nil, err
	}
	if c.Embedded {
		c.ShardLease, c.Heartbeat = m.Lease(), min(m.Lease()/6, time.Second)
	}
	s := &Store{
		config: c, servers: servers,
		shards:  servers.Keys.Shards(m.Shards),
		closing: make(chan struct{}), polled: make(chan struct{}), edited: make(chan struct{}, 1),
	}
	s.calls.Failure = s.failure
	s.Queries = kernel.Queries{Calls: &s.calls, Reader: query{s}, Read: s.tasks}
	s.calls.Refuse = func() error {
		if l := s.identity.Lost(); l != nil {
			return l
		}
		return nil
	}
	s.records = records.NewReader(servers, s.shards)
	s.identity = identity.New(identity.Config{
		Logger: c.Logger, Reload: s.reload, Changed: func() { s.member.WakeLoop() }, Heartbeat: c.Heartbeat, Nodes: func() int { return s.member.Standing().Nodes },
		Owned: func() []*keyspace.Shard { return s.member.Shards() },
	}, servers, s.shards)
	s.member = registry.New(s.registryConfig(m), servers, s.shards)
	s.lanes = lanes.New(lanes.Config{Poll: c.LanePoll, Now: s.now, Logger: c.Logger, Watchers: &s.Watchers}, servers, s.shards, s.member)
	s.quotas = quota.Quotas{Settings: func() *settings.Settings { return s.settings.Load().settings }, Free: servers.Free, CountAll: s.readCounts}
	if !c.Alone {
		s.quotas.Sums = s.member.Sums
	}
	s.scrubber = scrub.New(scrub.Config{Logger: c.Logger, TakeBack: s.takeBack}, servers, s.shards, s.member, s.lanes, s.records)
	s.Times = serverclock.NewTimes(servers.Clocks, c.CallersClock, c.Logger, s.member.WakeLoop, s.member.OthersLag)
	s.settings.Store(&configuration{settings: settings.NewSettings()})
	s.applied.Store(new(string))
	if err := s.identity.Identify(ctx, m); err != nil {
		return nil, err
	}
	if err := s.reload(ctx); err != nil {
		return nil, fmt.Errorf("read the settings: %w", err)
	}
	servers.Start()
	if c.Alone {
		if err := s.member.TakeAll(ctx); err != nil {
			return nil, err
		}
	} else if !c.Embedded {
		s.Join()
	}
	go s.poll()
	return s, nil
}

// Join makes this process one of the nodes until Release, and must be called at most
// once.
func (s *Store) Join() {
	s.member.Join(s.listenForPermits, s.lanes.Poll, s.listenForEdits, s.followSettings)
}

func (s *Store) registryConfig(m identity.Meta) registry.Config {
	c := s.config
	return registry.Config{
		Config: membership.Config{
			Node: c.Node, Version: c.Version, Address: c.Address, APIs: c.APIs, Embedded: c.Embedded, Logger: c.Logger,
			Lease: c.ShardLease, Heartbeat: c.Heartbeat,
			ShardOf: func(k task.Key) int { return keyspace.ShardOf(k, len(s.shards)) }, Watchers: &s.Watchers,
			Now:     s.now,
			Prepare: func(ctx context.Context, owned []*membership.Owned) error { return s.lanes.Prepare(ctx, owned) },
			Count:   s.countLimited,
			Lag:     func() time.Duration { return s.Lag() },
			Applied: func() string { return *s.applied.Load() },
			Closed:  func() bool { return s.identity.Lost() != nil },
		},
		Suspect:  func(err error) { s.identity.Suspect(err) },
		OnWakeup: func(message string) { s.lanes.HandleWakeup(message) },
	}
}

func (s *Store) shard(key task.Key) *keyspace.Shard {
	return s.shards[keyspace.ShardOf(key, len(s.shards))]
}

func (s *Store) idemShard(namespace, digest string) *keyspace.Shard {
	return s.shards[keyspace.IdemShard(namespace, digest, len(s.shards))]
}

// clock returns the clock that is sent to the server with a call.
func (s *Store) clock(now task.Millis) redisconn.Clock {
	if s.config.CallersClock {
		return redisconn.Clock{}
	}
	return redisconn.Clock{Now: now, Behind: 2000, Ahead: 1000}
}

// Endpoints returns host:port of each server that this process knows: those in
// Config.Client and those it is connected to, masters, replicas, Sentinels, and the
// APIs of all nodes. It can contain a server several times, and costs no request.
func (s *Store) Endpoints() []string { return append(s.servers.Endpoints(), s.member.APIs()...) }

// err returns why the store does not work, which shows within a few seconds after a
// server goes away.
func (s *Store) err() error {
	if err := s.calls.Err(); err != nil {
		return err
	}
	var err error
	if why := s.servers.Absent.Load(); why != nil {
		err = fmt.Errorf("%w: %w", task.ErrUnavailable, *why)
	}
	if why := s.servers.Unfit.Load(); why != nil {
		err = errors.Join(err, fmt.Errorf("%w: %w", task.ErrStoreUnfit, *why)) // another master can be away
	}
	return err
}

// failure translates the error of a whole call for its caller, and nil stays nil.
func (s *Store) failure(err error) error {
	switch {
	case err == nil:
		return nil
	case s.identity.Suspect(err):
		return redisconn.LossOf(err)
	case redisconn.OutOfMemory(err):
		return fmt.Errorf("%w: Redis has no memory left: %w", task.ErrFull, err)
	case errors.Is(err, rueidis.ErrClosing) && !errors.Is(err, task.ErrUnavailable): // the client closed a connection that it replaces
		return task.ErrClosed
	}
	return err
}

// Close implements store.Store.
func (s *Store) Close() error {
	s.Release()
	s.servers.Stop()
	if !s.calls.Close() {
		return nil
	}
	close(s.closing)
	<-s.polled
	s.servers.Close()
	s.member.Wait()
	return nil
}
