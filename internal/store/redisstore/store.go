package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/redisstore/audit"
	"github.com/foliot/foliot/internal/store/redisstore/identity"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/lanes"
	"github.com/foliot/foliot/internal/store/redisstore/membership"
	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/store/redisstore/scrub"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/trusted"
)

var _ task.Store = (*Store)(nil)

// errDamaged marks keys and values that this code cannot have written.
var errDamaged = codec.ErrDamaged

// Config says where a Store lies and how it behaves.
type Config struct {
	// Client says which servers. Required.
	Client rueidis.ClientOption

	// Shards is into how many parts the tasks are divided. The first node that opens a
	// store there decides; any other says the same, or nothing. Default: as
	// many as there are, DefaultShards where there are none.
	Shards int

	// Durability says what a nil error of a mutation means. Default: Default.
	Durability redisconn.Durability

	// Replicas is how many replicas must confirm a write at the level Strict. Default:
	// all that follow, and one at least once a master was seen to have any. Negative: none, at any level.
	Replicas int

	// Memory is how many bytes of memory each master may use, where the servers have no
	// limit themselves (maxmemory 0). New tasks are taken up to 85 % of the limit.
	Memory int64

	// UnsafeEviction and UnsafePersistence take servers that throw keys away when
	// memory ends, and those that do not keep, or sync, an append-only file as
	// Durability needs it. Tasks are lost there.
	UnsafeEviction, UnsafePersistence bool

	// Policy says how long records are kept after their end. Zero fields
	// have the defaults of task.Policy.
	Policy task.Policy

	// AuditKeep is how long entries of the audit log are kept. AuditLength bounds how many
	// of them each namespace has; if it has more, its own oldest ones go, and an entry
	// records that. Defaults: 30 days, a million, or fewer if the servers' memory is small
	// (see taskEntries); negative: there is no audit log.
	AuditKeep   time.Duration
	AuditLength int

	// Node is the name of this process among those that share the servers. With
	// the same name as before a restart it takes the same shards. Without slashes.
	// Default: a new one.
	Node string

	// Version is that of the program, and Address where it serves the API, host:port,
	// as the other nodes are to show them. Default: nothing.
	Version, Address string

	// APIs returns where else the API is reached, host:port: by each address of a
	// machine on all of which it listens. The other nodes keep tasks away from
	// there. It is called for each heartbeat and must not block. Default: none.
	APIs func() []string

	// ShardLease is for how long a node owns a shard without a word from it: so
	// late are a dead node's tasks. It is renewed every third of it. Heartbeat is
	// how often a node says that it lives, LanePoll how often it looks for what others
	// have put into its shards. All nodes must say the same.
	// Defaults: 6 s; a sixth of ShardLease, at most 1 s; 250 ms.
	ShardLease, Heartbeat, LanePoll time.Duration

	// Alone says that no other process uses the servers: all shards are this one's,
	// without leases.
	Alone bool

	// CallersClock makes the instants that callers hand in the only time there is:
	// for tests, whose time is made up, and that are alone. Otherwise the servers'
	// clocks decide.
	CallersClock bool

	// OnReap is called with the tasks whose leases Reap took back, as that left
	// them: some may have died of it. It must not call the store. Default: none.
	OnReap func(left []*task.Task)

	// Logger is told of what goes wrong. Default: none.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Durability = cmp.Or(c.Durability, redisconn.Default)
	c.Policy = c.Policy.WithDefaults()
	c.AuditKeep = cmp.Or(c.AuditKeep, task.DefaultAuditKeep)
	c.AuditLength = cmp.Or(c.AuditLength, audit.MaxTaskEntries)
	c.ShardLease = cmp.Or(c.ShardLease, 6*time.Second)
	c.Heartbeat = cmp.Or(c.Heartbeat, min(c.ShardLease/6, time.Second))
	c.LanePoll = cmp.Or(c.LanePoll, 250*time.Millisecond)
	c.Alone = c.Alone || c.CallersClock
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// check says what of c cannot work. A node must be heard of several times
// before others take it for dead, at half of its leases.
func (c Config) check() error {
	switch {
	case strings.Contains(c.Node, "/"):
		return fmt.Errorf("%w: the node's name %q has a slash: choose one without", identity.ErrConfig, c.Node)
	case c.Shards < 0 || c.Shards > keyspace.Slots:
		return fmt.Errorf("%w: %d shards: there can be from 1 to %d", identity.ErrConfig, c.Shards, keyspace.Slots)
	case c.Heartbeat <= 0 || c.LanePoll <= 0 || c.ShardLease < 4*c.Heartbeat:
		return fmt.Errorf("%w: a shard lease of %v with a heartbeat every %v: make it at least four times as long", identity.ErrConfig, c.ShardLease, c.Heartbeat)
	}
	return c.Durability.Check()
}

// conn returns the part of c that its servers need to know.
func (c Config) conn() redisconn.Config {
	return redisconn.Config{
		Client: c.Client, Durability: c.Durability, Replicas: c.Replicas, Memory: c.Memory,
		UnsafeEviction: c.UnsafeEviction, UnsafePersistence: c.UnsafePersistence, Subscribe: !c.Alone, Logger: c.Logger,
	}
}

// Store is a task.Store in Redis.
type Store struct {
	config  Config
	servers *redisconn.Servers
	shards  []*keyspace.Shard
	own     *membership.Member

	records  *records.Reader
	claimed  claimedRecords
	fences   fences
	trusted  *trusted.Clock // of Now
	quotas   quotas
	scrubber *scrub.Scrubber
	lanes    *lanes.Index
	settings atomic.Pointer[configuration]
	permits  permits
	log      *audit.Log
	identity *identity.Watch

	schedules atomic.Bool // keyspace.MetaKey keeps nodes out that do not know them: guardOlder sees to it that it stays so
	fired     atomic.Bool // there is a schedule, whatever keyspace.MetaKey says

	removing    sync.Mutex // held while a namespace is removed; taken before configuring
	configuring sync.Mutex // held while settings are changed and told
	tell        func(*task.Settings)

	gate    sync.RWMutex // held for reading by every call, for writing by Close
	closed  bool
	closing chan struct{}
	polled  chan struct{}
}

// Open returns the store that c names, and reads what it must know of it.
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

// open reads what a store must know of its servers, and begins to work. After
// an error nothing does.
func open(ctx context.Context, c Config, servers *redisconn.Servers) (*Store, error) {
	m, err := identity.Agree(ctx, servers, identity.Wishes{Shards: c.Shards, Lease: c.ShardLease, Alone: c.Alone})
	if err != nil {
		return nil, err
	}
	s := &Store{
		config: c, servers: servers,
		shards:  keyspace.NewShards(m.Shards),
		claimed: claimedRecords{m: map[task.Key]records.Record{}}, quotas: quotas{free: servers.Free, have: map[string]*usage{}},
		closing: make(chan struct{}), polled: make(chan struct{}),
	}
	s.records = records.NewReader(servers, s.shards)
	s.identity = identity.New(identity.Config{Logger: c.Logger, Reload: s.reload, Changed: func() { s.own.WakeLoop() }}, servers, s.shards)
	s.own = membership.New(s.member(), servers, s.shards)
	s.lanes = lanes.New(lanes.Config{Poll: c.LanePoll, Now: s.now, Logger: c.Logger}, servers, s.shards, s.own)
	s.scrubber = scrub.New(scrub.Config{Logger: c.Logger, TakeBack: s.takeBack}, servers, s.shards, s.own, s.lanes, s.records)
	s.log = audit.New(audit.Config{
		Keep: c.AuditKeep, Length: c.AuditLength, Logger: c.Logger, Settings: s.Settings, Counts: s.readCounts, Record: s.record,
	}, servers, s.shards, s.own)
	warn := trusted.Warn(c.Logger)
	s.trusted = trusted.NewWithin(s.nowWithin, func(ahead time.Duration) {
		warn(ahead)
		s.own.WakeLoop() // a heartbeat: nodes that start now must know
	})
	s.settings.Store(&configuration{settings: task.NewSettings()})
	if err := s.identity.Identify(ctx, m); err != nil {
		return nil, err
	}
	if err := s.load(ctx); err != nil {
		return nil, err
	}
	servers.Start()
	if c.Alone {
		if err := s.own.TakeAll(ctx); err != nil {
			return nil, err
		}
	} else {
		s.own.Join(s.listenForPermits, s.lanes.Poll)
	}
	go s.poll()
	return s, nil
}

// member returns what this process's ownership of shards needs to know.
func (s *Store) member() membership.Config {
	c := s.config
	return membership.Config{
		Node: c.Node, Version: c.Version, Address: c.Address, APIs: c.APIs, Format: identity.Format, Logger: c.Logger,
		ShardLease: c.ShardLease, Heartbeat: c.Heartbeat,
		Lag:     func() time.Duration { return s.trusted.Lag() },
		Closed:  func() bool { return s.identity.Lost() != nil },
		Suspect: func(err error) { s.identity.Suspect(err) },
		Prepare: func(ctx context.Context, owned []*membership.OwnedShard) error { return s.lanes.Prepare(ctx, owned) },
		Woken:   func(h *membership.OwnedShard, message string) { s.lanes.Woken(h, message) },
	}
}

// load reads the settings.
func (s *Store) load(ctx context.Context) error {
	s.configuring.Lock()
	defer s.configuring.Unlock()
	if _, err := s.reloadLocked(ctx); err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	return nil
}

func (s *Store) shard(key task.Key) *keyspace.Shard {
	return s.shards[keyspace.ShardOf(key, len(s.shards))]
}

func (s *Store) idemShard(namespace, digest string) *keyspace.Shard {
	return s.shards[keyspace.IdemShard(namespace, digest, len(s.shards))]
}

// policyOf returns the retention of t's queue; t may be nil.
func (s *Store) policyOf(t *task.Task) task.Policy {
	if t == nil {
		return s.config.Policy
	}
	return s.Settings().Policy(s.config.Policy, t.Namespace, t.Queue)
}

// put carries out items for r.
func (s *Store) put(ctx context.Context, r *request, items []redisconn.Item) ([]redisconn.Outcome, task.Millis, error) {
	k := r.steps[0].kind
	return s.servers.Put(ctx, s.clock(r.now), items, r.known, k == claim || k == extension)
}

// clock returns what the server is told of our time.
func (s *Store) clock(now task.Millis) redisconn.Clock {
	if s.config.CallersClock {
		return redisconn.Clock{}
	}
	return redisconn.Clock{Now: now, Behind: 2000, Ahead: 1000}
}

// Endpoints returns host:port of each server that this process knows of: the
// ones in Config.Client, those that it is connected to (by the name that was
// dialled and by the address that answered), masters and replicas as a Cluster
// or a master reports them, and Sentinels as other Sentinels report them. The
// API of each node follows, as its heartbeat says. The list has no order, and
// may name a server several times. It costs no request.
func (s *Store) Endpoints() []string {
	all := s.servers.Endpoints()
	return append(all, s.own.APIs()...)
}

// Durability implements task.Store.
func (s *Store) Durability() string { return string(s.config.Durability) }

// Err implements task.Store. It costs no request: servers that are away were seen
// to be within a few seconds.
func (s *Store) Err() error {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.closed {
		return task.ErrClosed
	}
	if l := s.identity.Lost(); l != nil {
		return l
	}
	if why := s.servers.Absent.Load(); why != nil {
		return fmt.Errorf("%w: %w", task.ErrUnavailable, *why)
	}
	if why := s.servers.Unfit.Load(); why != nil {
		return fmt.Errorf("%w: %w", task.ErrStoreUnfit, *why)
	}
	return nil
}

// enter begins a call; leave ends it.
func (s *Store) enter(ctx context.Context) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.gate.RLock()
	if s.closed {
		s.gate.RUnlock()
		return nil, task.ErrClosed
	}
	if l := s.identity.Lost(); l != nil {
		s.gate.RUnlock()
		return nil, l
	}
	return s.gate.RUnlock, nil
}

// failure translates err, of a call as a whole, for callers; nil stays nil.
func (s *Store) failure(err error) error {
	switch {
	case err == nil:
		return nil
	case s.identity.Suspect(err):
		return redisconn.LossOf(err)
	case redisconn.OutOfMemory(err):
		return fmt.Errorf("%w: Redis has no memory left: %w", task.ErrFull, err)
	case errors.Is(err, rueidis.ErrClosing) && !errors.Is(err, task.ErrUnavailable): // the client has closed a connection that it replaces
		return task.ErrClosed
	}
	return err
}

// Close implements task.Store.
func (s *Store) Close() error {
	s.Release()
	s.servers.Stop()
	s.gate.Lock()
	if s.closed {
		s.gate.Unlock()
		return nil
	}
	s.closed = true
	s.gate.Unlock()
	close(s.closing)
	<-s.polled
	s.servers.Close()
	<-s.own.Ended
	return nil
}
