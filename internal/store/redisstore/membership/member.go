package membership

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/store/marks"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// Nobody is an owner's id that no shard has.
const Nobody = "nobody"

// OwnedShard is a shard that this process owns. If the shard is lost and acquired again, it
// has another OwnedShard.
type OwnedShard struct {
	*keyspace.Shard
	ID     string // the owner's, as put checks it; "": there are no leases
	Marks  *marks.Set
	Ready  atomic.Bool  // the marks know the shard's lanes
	Polled atomic.Int64 // so many lanes the poll has looked at in this round
	until  atomic.Int64 // the end of the lease, in nanoseconds after Member.base
	stop   context.CancelFunc
}

// Config says who this process is among the nodes, and how it calls the store.
type Config struct {
	Node             string          // the name of this process; "": a new one
	Version, Address string          // as the other nodes show them
	APIs             func() []string // see Config.APIs of the store; nil: none
	Format           int             // of what this process writes
	Logger           *slog.Logger

	// ShardLease and Heartbeat are those of the store.
	ShardLease, Heartbeat time.Duration

	Lag     func() time.Duration // returns by how much the trusted time of this process lags
	Closed  func() bool          // reports whether the store is closed: then this process owns no shards
	Suspect func(error)          // is called with the replies of scripts that compare the identity of the store

	// Prepare is called with shards that this process has acquired. It reads their lanes, and sets ready.
	Prepare func(context.Context, []*OwnedShard) error

	// Woken is called with each message on the channel of an owned shard.
	Woken func(h *OwnedShard, message string)
}

// silence is how long a node may be silent and counts as live.
func (c Config) silence() time.Duration { return c.ShardLease / 2 }

// Member is this process among the nodes: the shards that it owns, and what it knows of the
// other nodes. The loop that Join starts changes it. Release ends the loop.
type Member struct {
	config  Config
	servers *redisconn.Servers
	shards  []*keyspace.Shard

	self    peer
	Process string // self's process
	base    time.Time
	owned   []atomic.Pointer[OwnedShard] // by shard; nil: not ours
	Marks   *marks.Group                 // of the owned shards

	news         chan struct{}   // something has changed among the nodes
	leaving      chan struct{}   // closed by Release
	Ended        chan struct{}   // closed when nothing is held any more
	stepContext  context.Context // ends soon after Release, and a step of the loop with it
	cancelStep   context.CancelFunc
	once         sync.Once
	notListening sync.Once // it was said that nothing can be heard
	listeners    sync.WaitGroup

	// What the loop has counted, for who wants to know.
	nodes           atomic.Int64 // that live
	takeovers, lost atomic.Uint64
	rollbacks       atomic.Uint64 // see rolledBack

	lag  atomic.Int64             // the most by which the trusted time of another node lags; the loop writes it
	apis atomic.Pointer[[]string] // host:port of the APIs of all nodes; the loop writes it

	duplicate atomic.Bool // another process that lives had this one's name before; the loop writes it

	// The rest is the loop's.
	states   []claimState
	peers    []peer // that live
	mine     []bool // what this process is to own, while takers are the nodes to share
	takers   []string
	nextBeat time.Time
	nextLook time.Time         // for shards that nobody owns
	orphans  map[int]bool      // nobody owned them then, though another was to
	adopted  map[int]time.Time // that this process owns all the same, until then
	met      bool              // others have heard of this process
	beats    int64             // so many heartbeats the store had counted at the last one
	away     time.Time         // when a heartbeat failed last
	holder   peer              // that had this process's name before, as it was last heard of
	silent   time.Time         // it is, for too long: from then on a duplicate may take its name; zero: it speaks
	log      ownershipLog
}

// New returns a process that owns no shards yet. The caller calls join or takeAll.
func New(c Config, servers *redisconn.Servers, shards []*keyspace.Shard) *Member {
	now, nonce := time.Now(), rand.Text()
	self := peer{name: c.Node, nonce: nonce, version: c.Version, address: c.Address, format: c.Format, started: task.FloorMillis(now)}
	if self.name == "" {
		self.name = "node-" + strings.ToLower(nonce[:8])
	}
	o := &Member{
		config: c, servers: servers, shards: shards,
		self: self, Process: self.process(), base: now, states: make([]claimState, len(shards)),
		owned: make([]atomic.Pointer[OwnedShard], len(shards)), Marks: marks.NewGroup(),
		orphans: map[int]bool{}, adopted: map[int]time.Time{},
		news: make(chan struct{}, 1), leaving: make(chan struct{}), Ended: make(chan struct{}),
	}
	o.stepContext, o.cancelStep = context.WithCancel(context.Background())
	return o
}

// APIs returns host:port of the APIs of all nodes, as their heartbeats say.
func (o *Member) APIs() []string {
	if list := o.apis.Load(); list != nil {
		return *list
	}
	return nil
}

// OthersLag returns by how much the trusted time of another node lags, at most.
func (o *Member) OthersLag() time.Duration { return time.Duration(o.lag.Load()) }

// Shard returns sh as this process owns it, nil if it does not.
func (o *Member) Shard(sh *keyspace.Shard) *OwnedShard {
	h := o.owned[sh.Number].Load()
	if h == nil || o.config.Closed() || time.Since(o.base) >= time.Duration(h.until.Load()) {
		return nil
	}
	return h
}

// Owned returns the shards that are this node's.
func (o *Member) Owned() []*OwnedShard {
	all := make([]*OwnedShard, 0, len(o.shards))
	for _, sh := range o.shards {
		if h := o.Shard(sh); h != nil && h.Ready.Load() {
			all = append(all, h)
		}
	}
	return all
}

// Owner returns the id that must own sh for what only its owner may do.
func (o *Member) Owner(sh *keyspace.Shard) string {
	if h := o.Shard(sh); h != nil {
		return h.ID
	}
	return Nobody
}

// TakeAll makes every shard this process's, without leases.
func (o *Member) TakeAll(ctx context.Context) error {
	for _, sh := range o.shards {
		h := &OwnedShard{Shard: sh, Marks: o.Marks.New(), stop: func() {}}
		h.until.Store(1<<63 - 1)
		o.owned[sh.Number].Store(h)
	}
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

// drop ends the ownership of a shard.
func (o *Member) drop(i int, state claimState) {
	if h := o.owned[i].Swap(nil); h != nil {
		h.stop()
		h.Marks.Leave()
	}
	o.states[i] = state
}
