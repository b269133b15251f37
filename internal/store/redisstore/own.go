package redisstore

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

// nobody is an owner's id that no shard has.
const nobody = "nobody"

// holding is a shard that this process owns. What becomes of the shard once it
// is lost is not this holding's any more: who owns it again has another one.
type holding struct {
	*keyspace.Shard
	id     string // the owner's, as put checks it; "": there are no leases
	marks  *marks.Set
	ready  atomic.Bool  // the marks know the shard's lanes
	polled atomic.Int64 // so many lanes the poll has looked at in this round
	until  atomic.Int64 // the end of the lease, in nanoseconds after ownership.base
	stop   context.CancelFunc
}

// memberConfig says who this process is among the nodes, and how it calls the store.
type memberConfig struct {
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
	Prepare func(context.Context, []*holding) error

	// Woken is called with each message on the channel of an owned shard.
	Woken func(h *holding, message string)
}

// silence is how long a node may be silent and counts as live.
func (c memberConfig) silence() time.Duration { return c.ShardLease / 2 }

// ownership is which shards this process owns, and what it knows of others.
// The loop that join starts changes it, and Release ends.
type ownership struct {
	config  memberConfig
	servers *redisconn.Servers
	shards  []*keyspace.Shard

	self     peer
	process  string // self's process
	base     time.Time
	holdings []atomic.Pointer[holding] // by shard; nil: not ours
	marks    *marks.Group              // of the holdings

	news      chan struct{}   // something has changed among the nodes
	leaving   chan struct{}   // closed by Release
	ended     chan struct{}   // closed when nothing is held any more
	hasty     context.Context // ends soon after Release: what tends shards then is given up
	hurry     context.CancelFunc
	once      sync.Once
	deaf      sync.Once // it was said that nothing can be heard
	listeners sync.WaitGroup

	// What the loop has counted, for who wants to know.
	nodes           atomic.Int64 // that live
	takeovers, lost atomic.Uint64
	rollbacks       atomic.Uint64 // see rolledBack

	lag  atomic.Int64             // the most by which the trusted time of another node lags; the loop writes it
	apis atomic.Pointer[[]string] // host:port of the APIs of all nodes; the loop writes it

	twin atomic.Bool // another process that lives had this one's name before; the loop writes it

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
	silent   time.Time         // it is, for too long: from then on a twin may take its name; zero: it speaks
	changes  changes
}

// newOwnership returns a process that owns no shards yet. The caller calls join or takeAll.
func newOwnership(c memberConfig, servers *redisconn.Servers, shards []*keyspace.Shard) *ownership {
	now, nonce := time.Now(), rand.Text()
	self := peer{name: c.Node, nonce: nonce, version: c.Version, address: c.Address, format: c.Format, started: task.FloorMillis(now)}
	if self.name == "" {
		self.name = "node-" + strings.ToLower(nonce[:8])
	}
	o := &ownership{
		config: c, servers: servers, shards: shards,
		self: self, process: self.process(), base: now, states: make([]claimState, len(shards)),
		holdings: make([]atomic.Pointer[holding], len(shards)), marks: marks.NewGroup(),
		orphans: map[int]bool{}, adopted: map[int]time.Time{},
		news: make(chan struct{}, 1), leaving: make(chan struct{}), ended: make(chan struct{}),
	}
	o.hasty, o.hurry = context.WithCancel(context.Background())
	return o
}

// knownAPIs returns host:port of the APIs of all nodes, as their heartbeats say.
func (o *ownership) knownAPIs() []string {
	if list := o.apis.Load(); list != nil {
		return *list
	}
	return nil
}

// othersLag returns by how much the trusted time of another node lags, at most.
func (o *ownership) othersLag() time.Duration { return time.Duration(o.lag.Load()) }

// holding returns what makes sh this process's, or nil.
func (o *ownership) holding(sh *keyspace.Shard) *holding {
	h := o.holdings[sh.Number].Load()
	if h == nil || o.config.Closed() || time.Since(o.base) >= time.Duration(h.until.Load()) {
		return nil
	}
	return h
}

// owned returns the shards that are this node's.
func (o *ownership) owned() []*holding {
	all := make([]*holding, 0, len(o.shards))
	for _, sh := range o.shards {
		if h := o.holding(sh); h != nil && h.ready.Load() {
			all = append(all, h)
		}
	}
	return all
}

// owner returns the id that must own sh for what only its owner may do.
func (o *ownership) owner(sh *keyspace.Shard) string {
	if h := o.holding(sh); h != nil {
		return h.id
	}
	return nobody
}

// takeAll makes every shard this process's, without leases.
func (o *ownership) takeAll(ctx context.Context) error {
	for _, sh := range o.shards {
		h := &holding{Shard: sh, marks: o.marks.New(), stop: func() {}}
		h.until.Store(1<<63 - 1)
		o.holdings[sh.Number].Store(h)
	}
	close(o.ended)
	return o.config.Prepare(ctx, o.all())
}

// all returns every holding, ready or not.
func (o *ownership) all() (all []*holding) {
	for i := range o.holdings {
		if h := o.holdings[i].Load(); h != nil {
			all = append(all, h)
		}
	}
	return all
}

// drop ends a holding.
func (o *ownership) drop(i int, state claimState) {
	if h := o.holdings[i].Swap(nil); h != nil {
		h.stop()
		h.marks.Leave()
	}
	o.states[i] = state
}
