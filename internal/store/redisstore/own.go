package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/store/marks"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
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

// ownership is which shards this process owns, and what it knows of others.
// The loop that join starts changes it, and Release ends.
type ownership struct {
	self     peer
	who      string // self's process
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

// errConfig marks settings that cannot work.
var errConfig = errors.New("settings of the shards")

// check says what of c cannot work. A node must be heard of several times
// before others take it for dead, at half of its leases.
func (c Config) check() error {
	switch {
	case strings.Contains(c.Node, "/"):
		return fmt.Errorf("%w: the node's name %q has a slash: choose one without", errConfig, c.Node)
	case c.Shards < 0 || c.Shards > keyspace.Slots:
		return fmt.Errorf("%w: %d shards: there can be from 1 to %d", errConfig, c.Shards, keyspace.Slots)
	case c.Heartbeat <= 0 || c.LanePoll <= 0 || c.ShardLease < 4*c.Heartbeat:
		return fmt.Errorf("%w: a shard lease of %v with a heartbeat every %v: make it at least four times as long", errConfig, c.ShardLease, c.Heartbeat)
	}
	return c.Durability.Check()
}

func newOwnership(c Config, shards int) *ownership {
	now, nonce := time.Now(), rand.Text()
	self := peer{name: c.Node, nonce: nonce, version: c.Version, address: c.Address, format: format, started: task.FloorMillis(now)}
	if self.name == "" {
		self.name = "node-" + strings.ToLower(nonce[:8])
	}
	o := &ownership{
		self: self, who: self.process(), base: now, states: make([]claimState, shards),
		holdings: make([]atomic.Pointer[holding], shards), marks: marks.NewGroup(),
		orphans: map[int]bool{}, adopted: map[int]time.Time{},
		news: make(chan struct{}, 1), leaving: make(chan struct{}), ended: make(chan struct{}),
	}
	o.hasty, o.hurry = context.WithCancel(context.Background())
	return o
}

// holding returns what makes sh this process's, or nil.
func (s *Store) holding(sh *keyspace.Shard) *holding {
	h := s.own.holdings[sh.Number].Load()
	if h == nil || s.lost() != nil || time.Since(s.own.base) >= time.Duration(h.until.Load()) {
		return nil
	}
	return h
}

// owned returns the shards that are this node's.
func (s *Store) owned() []*holding {
	all := make([]*holding, 0, len(s.shards))
	for _, sh := range s.shards {
		if h := s.holding(sh); h != nil && h.ready.Load() {
			all = append(all, h)
		}
	}
	return all
}

// owner returns the id that must own sh for what only its owner may do.
func (s *Store) owner(sh *keyspace.Shard) string {
	if h := s.holding(sh); h != nil {
		return h.id
	}
	return nobody
}

// takeAll makes every shard this process's, without leases.
func (s *Store) takeAll(ctx context.Context) error {
	for _, sh := range s.shards {
		h := &holding{Shard: sh, marks: s.own.marks.New(), stop: func() {}}
		h.until.Store(1<<63 - 1)
		s.own.holdings[sh.Number].Store(h)
	}
	close(s.own.ended)
	return s.prepare(ctx, s.all())
}

// all returns every holding, ready or not.
func (s *Store) all() (all []*holding) {
	for i := range s.own.holdings {
		if h := s.own.holdings[i].Load(); h != nil {
			all = append(all, h)
		}
	}
	return all
}

// drop ends a holding.
func (s *Store) drop(i int, state claimState) {
	if h := s.own.holdings[i].Swap(nil); h != nil {
		h.stop()
		h.marks.Leave()
	}
	s.own.states[i] = state
}
