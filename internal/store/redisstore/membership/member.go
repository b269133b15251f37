package membership

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/store/lowwater"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// NoOwner is an owner id that no shard has.
const NoOwner = "no owner"

// OwnedShard is a shard that this process owns. If the shard is lost and
// acquired again, a new OwnedShard replaces it.
type OwnedShard struct {
	*keyspace.Shard
	ID       string // the owner's id, which put compares; empty means that there are no leases
	Lowwater *lowwater.Set
	Ready    atomic.Bool // Lowwater holds the shard's lanes
	Leases   LeaseBound
	Polled   atomic.Int64 // the number of lanes that the poll has read in this round
	until    atomic.Int64 // the end of the lease, in nanoseconds after Member.base
	stop     context.CancelFunc
}

// Config describes this process to the other nodes, and connects it to the
// store.
type Config struct {
	Node             string          // the name of this process; empty means a generated name
	Version, Address string          // as the other nodes show them
	APIs             func() []string // see Config.APIs of the store; nil means none
	Logger           *slog.Logger

	// ShardLease and Heartbeat are the settings of the store.
	ShardLease, Heartbeat time.Duration

	Lag     func() time.Duration // returns how far the trusted time of this process lags
	Applied func() string        // returns the version of the settings that this process has applied
	Closed  func() bool          // reports whether the store is closed; this process then owns no shards
	Suspect func(error)          // is called with the replies of scripts that compare the identity of the store

	// Prepare is called with shards that this process has acquired. It reads
	// their lanes and sets Ready.
	Prepare func(context.Context, []*OwnedShard) error

	// OnWakeup is called with each message on the channel of an owned shard.
	OnWakeup func(h *OwnedShard, message string)
}

// silence is how long a node can be silent and still count as live.
func (c Config) silence() time.Duration { return c.ShardLease / 2 }

// Member represents this process among the nodes: the shards that it owns, and
// its knowledge of the other nodes. Join starts the loop that changes it, and
// Release ends the loop.
type Member struct {
	config  Config
	servers *redisconn.Servers
	shards  []*keyspace.Shard

	self     peer
	Process  string // self's process
	base     time.Time
	owned    []atomic.Pointer[OwnedShard] // the index is the shard; nil means not owned
	Lowwater *lowwater.Group              // the low-water marks of the owned shards

	news        chan struct{}   // something has changed among the nodes
	leaving     chan struct{}   // closed by Release
	Ended       chan struct{}   // closed when no shard is held any more
	stepContext context.Context // ends soon after Release, and ends a step of the loop
	cancelStep  context.CancelFunc
	once        sync.Once
	begin       sync.Mutex // guards the two fields below
	begun       bool       // Join or TakeAll was called
	released    bool       // Release was called
	refused     sync.Once  // a refused subscription was logged
	listeners   sync.WaitGroup

	// Counters of the loop, read by other goroutines.
	nodes           atomic.Int64 // live nodes
	takeovers, lost atomic.Uint64

	lag  atomic.Int64             // the largest lag of the trusted time of another node; the loop writes it
	apis atomic.Pointer[[]string] // host:port of the APIs of all nodes; the loop writes it

	duplicate atomic.Bool // another live process has had this one's name longer; the loop writes it

	// Only the loop uses the fields below.
	states    []claimState
	peers     []peer // live peers
	mine      []bool // the shards that are allotted to this process among the takers
	takers    []string
	nextBeat  time.Time
	nextAdopt time.Time         // when to look for shards without an owner
	orphans   map[int]bool      // shards without an owner at the last check that another node should own
	adopted   map[int]time.Time // shards of other nodes that this process owns until then
	met       bool              // other nodes know this process
	away      time.Time         // when a heartbeat last failed
	holder    peer              // the process that had this name first, as its last heartbeat described it
	silent    time.Time         // when a duplicate can take the name because the holder is silent; zero means that the holder is not silent
	log       ownershipLog
}

// New returns a process that owns no shards. The caller then calls Join or
// TakeAll.
func New(c Config, servers *redisconn.Servers, shards []*keyspace.Shard) *Member {
	now, nonce := time.Now(), rand.Text()
	self := peer{name: c.Node, nonce: nonce, version: c.Version, address: c.Address, started: task.FloorMillis(now)}
	if self.name == "" {
		self.name = "node-" + strings.ToLower(nonce[:8])
	}
	o := &Member{
		config: c, servers: servers, shards: shards,
		self: self, Process: self.process(), base: now, states: make([]claimState, len(shards)),
		owned: make([]atomic.Pointer[OwnedShard], len(shards)), Lowwater: lowwater.NewGroup(),
		orphans: map[int]bool{}, adopted: map[int]time.Time{},
		news: make(chan struct{}, 1), leaving: make(chan struct{}), Ended: make(chan struct{}),
	}
	o.stepContext, o.cancelStep = context.WithCancel(context.Background())
	return o
}

// APIs returns host:port of the APIs of all nodes, from their heartbeats.
func (o *Member) APIs() []string {
	if list := o.apis.Load(); list != nil {
		return *list
	}
	return nil
}

// OthersLag returns the largest lag of the trusted time of another node.
func (o *Member) OthersLag() time.Duration { return time.Duration(o.lag.Load()) }

// Shard returns sh as an OwnedShard, nil if this process does not own it.
func (o *Member) Shard(sh *keyspace.Shard) *OwnedShard {
	h := o.owned[sh.Number].Load()
	if h == nil || o.config.Closed() || time.Since(o.base) >= time.Duration(h.until.Load()) {
		return nil
	}
	return h
}

// Owned returns the shards that this process owns and whose lanes it has read.
func (o *Member) Owned() []*OwnedShard {
	all := make([]*OwnedShard, 0, len(o.shards))
	for _, sh := range o.shards {
		if h := o.Shard(sh); h != nil && h.Ready.Load() {
			all = append(all, h)
		}
	}
	return all
}

// Acquired returns sh as an OwnedShard, even if its lease has run out and was not
// renewed yet. It is nil if this process has not acquired sh, or has lost it.
func (o *Member) Acquired(sh *keyspace.Shard) *OwnedShard { return o.owned[sh.Number].Load() }

// KnowsOthers reports whether other live nodes are known.
func (o *Member) KnowsOthers() bool { return o.nodes.Load() > 1 }

// Owner returns the owner id for writes to sh that only its owner is allowed to
// make. It is NoOwner if this process does not own sh.
func (o *Member) Owner(sh *keyspace.Shard) string {
	if h := o.Shard(sh); h != nil {
		return h.ID
	}
	return NoOwner
}

// starts records that Join or TakeAll was called. If Release was called before,
// it records nothing and reports false.
func (o *Member) starts() bool {
	o.begin.Lock()
	defer o.begin.Unlock()
	o.begun = !o.released
	return o.begun
}

// TakeAll makes this process own every shard, without leases.
func (o *Member) TakeAll(ctx context.Context) error {
	for _, sh := range o.shards {
		h := &OwnedShard{Shard: sh, Lowwater: o.Lowwater.New(), stop: func() {}}
		h.until.Store(1<<63 - 1)
		o.owned[sh.Number].Store(h)
	}
	o.starts()
	close(o.Ended)
	return o.config.Prepare(ctx, o.all())
}

// all returns every owned shard, ready or not.
func (o *Member) all() (all []*OwnedShard) {
	for i := range o.owned {
		if h := o.owned[i].Load(); h != nil {
			all = append(all, h)
		}
	}
	return all
}

// disown ends the ownership of a shard.
func (o *Member) disown(i int, state claimState) {
	if h := o.owned[i].Swap(nil); h != nil {
		h.stop()
		h.Lowwater.Leave()
	}
	o.states[i] = state
}
