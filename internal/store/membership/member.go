package membership

import (
	"context"
	"crypto/rand"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/lowwater"
	"github.com/foliot/foliot/internal/task"
)

// NoOwner is an owner id that no shard has.
const NoOwner = "no owner"

// Owned is a shard that this process owns. If the shard is lost and acquired again,
// a new Owned replaces it.
type Owned struct {
	Shard int    // its number
	ID    string // the owner's id, which writes compare; empty means that there are no leases

	Ready    atomic.Bool   // the store has read it: see Config.Prepare
	Lowwater *lowwater.Set // the marks of its lanes

	until atomic.Pointer[instant] // when it stops to act as the owner; nil means never
	ended atomic.Bool             // the lease ended: see end
	lost  func()                  // nil means that the store need not know
}

// instant is a time by both clocks of this process.
type instant struct {
	elapsed time.Duration // by the monotonic clock
	wall    time.Duration
}

func (m *Member) instant(t time.Time) instant {
	return instant{t.Sub(m.base), time.Duration(t.UnixNano())}
}

func (o *Owned) holds(now instant) bool {
	if until := o.until.Load(); until != nil && (now.elapsed >= until.elapsed || now.wall >= until.wall) {
		o.end()
	}
	return !o.ended.Load()
}

// end ends a lease for good: no reply renews it, and a clock that is set back does not
// bring it back. Without it the store may have read no news of the shard, so this process
// must acquire it again.
func (o *Owned) end() {
	if o.until.Load() != nil {
		o.ended.Store(true)
	}
}

// Config describes this process to the other nodes, and connects it to the store.
type Config struct {
	Node             string          // the name of this process; empty means a generated name
	Version, Address string          // as the other nodes show them
	APIs             func() []string // further addresses of its API; nil means none
	Embedded         bool            // this process is a program with handlers, and not foliot serve
	Logger           *slog.Logger

	Shards    int                // the number of shards
	ShardOf   func(task.Key) int // returns the shard of a task
	Lease     time.Duration      // the length of a lease
	Heartbeat time.Duration
	Watchers  *store.Watchers // get the entries in owned shards

	// BeatRenews says that a heartbeat renews the leases of all shards, and that they
	// are lost if a heartbeat finds this process missing. One server has the nodes and
	// all shards, so no other node has to adopt any.
	BeatRenews bool

	Now     func() task.Millis   // returns the registry's clock, as well as this process knows it
	Lag     func() time.Duration // returns how far the trusted time of this process lags
	Applied func() string        // returns the version of the settings that this process has applied
	Closed  func() bool          // reports whether the store is closed; this process then owns no shards

	// Acquired is called with each shard that this process has acquired, before any
	// method returns it. The function that it returns is called when the shard is
	// lost or released. Default: none.
	Acquired func(*Owned) (lost func())

	// Prepare is called with shards that are not Ready, adds their lanes to the marks and
	// sets Ready.
	Prepare func(context.Context, []*Owned) error

	// Count counts the records in shards that this process owns, by the namespaces
	// that have quotas. It returns nil if none has, and then nothing is published.
	// Sums has what the nodes publish; without it they publish nothing.
	Count func(ctx context.Context, shards []int) (map[string]task.Counts, error)
	Sums  Publisher

	// Note logs the failure of an action, or its end if err is nil, but not
	// repetitions.
	Note func(action string, err error, args ...any)

	// UntilNext returns the time until the next multiple of a period.
	UntilNext func(period time.Duration) time.Duration
}

// acts is how long a node acts as an owner after it has sent the request that
// acquired or renewed the lease. The rest is the step of the registry's clock that
// does no harm.
func (c Config) acts() time.Duration { return c.Lease - c.Lease/12 }

// Silence is how long a node can be silent and still count as live.
func (c Config) Silence() time.Duration { return c.Lease / 2 }

// Member represents this process among the nodes: the shards that it owns, and
// its knowledge of the other nodes. Join starts the loop that changes it, and
// Release ends the loop.
type Member struct {
	config   Config
	registry Registry

	self    Peer
	Process string // self's process
	base    time.Time
	owned   []atomic.Pointer[Owned] // the index is the shard; nil means not owned

	Lowwater *lowwater.Group // the low-water marks of the owned shards

	news        chan struct{}   // something has changed among the nodes
	leaving     chan struct{}   // closed by Release
	Ended       chan struct{}   // closed when no shard is held any more
	stepContext context.Context // ends soon after Release, and ends a step of the loop
	cancelStep  context.CancelFunc
	once        sync.Once
	begin       sync.Mutex // guards the two fields below
	begun       bool       // Join or TakeAll was called
	released    bool       // Release was called
	alone       bool       // TakeAll was called; immutable after it
	listeners   sync.WaitGroup

	// Counters of the loop, read by other goroutines.
	nodes   atomic.Int64 // live nodes
	counted atomic.Int64 // owned shards as of the last step
	lost    atomic.Uint64

	lag  atomic.Int64             // the largest lag of the trusted time of another node; the loop writes it
	apis atomic.Pointer[[]string] // host:port of the APIs of all nodes; the loop writes it

	duplicate atomic.Bool // another live process has had this one's name longer; the loop writes it

	// Only the loop uses the fields below.
	states    []claimState
	peers     []Peer // live peers
	mine      []bool // the shards that are allotted to this process among the takers
	ranks     []int  // how many takers come before this process for each shard, without its owner
	takers    []string
	now       task.Millis // the registry's clock at the last heartbeat
	nextBeat  time.Time
	nextAdopt time.Time         // when to look for shards without an owner
	orphans   map[int]bool      // shards without an owner at the last check that another node should own
	adopted   map[int]time.Time // shards of other nodes that this process owns until then
	met       bool              // other nodes know this process
	away      time.Time         // when a heartbeat last failed
	holder    Peer              // the process that had this name first, as its last heartbeat described it
	silent    time.Time         // when a duplicate can take the name because the holder is silent; zero means that the holder is not silent
	logged    int               // the number of owned shards in the last log line about it
}

// New returns a process that owns no shards, until the caller calls Join or
// TakeAll.
func New(c Config, r Registry) *Member {
	now, nonce := time.Now(), rand.Text()
	self := Peer{Name: c.Node, Nonce: nonce, Version: c.Version, Address: c.Address, Started: task.FloorMillis(now), Role: foliotServe}
	if c.Embedded {
		self.Role = aProgram
	}
	if self.Name == "" {
		self.Name = "node-" + strings.ToLower(nonce[:8])
	}
	o := &Member{
		config: c, registry: r, self: self, Process: self.Process(), base: now, states: make([]claimState, c.Shards),
		owned: make([]atomic.Pointer[Owned], c.Shards), Lowwater: lowwater.NewGroup(), orphans: map[int]bool{}, adopted: map[int]time.Time{},
		news: make(chan struct{}, 1), leaving: make(chan struct{}), Ended: make(chan struct{}),
	}
	o.stepContext, o.cancelStep = context.WithCancel(context.Background())
	return o
}

// APIs returns host:port of the APIs of all nodes, from their heartbeats.
func (m *Member) APIs() []string {
	if list := m.apis.Load(); list != nil {
		return *list
	}
	return nil
}

// OthersLag returns the largest lag of the trusted time of another node.
func (m *Member) OthersLag() time.Duration { return time.Duration(m.lag.Load()) }

// Owns returns shard i if this process owns it now, otherwise nil.
func (m *Member) Owns(i int) *Owned {
	h := m.owned[i].Load()
	if h == nil {
		return nil
	}
	if m.config.Closed() {
		h.end()
	}
	if !h.holds(m.instant(time.Now())) {
		return nil
	}
	return h
}

// Held returns the shards that this process owns.
func (m *Member) Held() []*Owned {
	if m.config.Closed() {
		m.Doubt()
		return nil
	}
	all, now := make([]*Owned, 0, len(m.owned)), m.instant(time.Now())
	for i := range m.owned {
		if h := m.owned[i].Load(); h != nil && h.holds(now) {
			all = append(all, h)
		}
	}
	return all
}

// Owned returns the shards that Held returns and that are Ready.
func (m *Member) Owned() []*Owned {
	return slices.DeleteFunc(m.Held(), func(h *Owned) bool { return !h.Ready.Load() })
}

// Marks returns the low-water marks of the shards that Owned returns.
func (m *Member) Marks() (sets []*lowwater.Set) {
	for _, h := range m.Owned() {
		sets = append(sets, h.Lowwater)
	}
	return sets
}

// Added adds entries of owned shards to the marks, and hints them. It returns the entries
// of other shards.
func (m *Member) Added(entries []task.Entry) (others []task.Entry) {
	var ours []task.Entry
	for _, e := range entries {
		h := m.Owns(m.config.ShardOf(e.Key()))
		if h == nil {
			others = append(others, e)
			continue
		}
		if ours = append(ours, e); e.Hint == task.Waits {
			h.Lowwater.Added([]task.Entry{e})
		}
	}
	m.Hint(ours)
	return others
}

// Hint calls the watcher of tasks.
func (m *Member) Hint(entries []task.Entry) {
	if hint := m.config.Watchers.Tasks(); hint != nil && len(entries) > 0 {
		hint(entries)
	}
}

// count counts the shards for Standing.
func (m *Member) count() { m.counted.Store(int64(len(m.Owned()))) }

// KnowsOthers reports whether other live nodes are known.
func (m *Member) KnowsOthers() bool { return m.nodes.Load() > 1 }

// Owner returns the owner id for writes to shard i that only its owner is allowed
// to make, or NoOwner if this process does not own it.
func (m *Member) Owner(i int) string {
	if h := m.Owns(i); h != nil {
		return h.ID
	}
	return NoOwner
}

// starts records that Join or TakeAll was called, or reports false if Release was
// called before.
func (m *Member) starts() bool {
	m.begin.Lock()
	defer m.begin.Unlock()
	m.begun = !m.released
	return m.begun
}

// TakeAll makes this process own every shard, without leases. It must be called before any
// other method.
func (m *Member) TakeAll(ctx context.Context) error {
	m.alone = true
	for i := range m.owned {
		m.take(&Owned{Shard: i})
	}
	m.starts()
	close(m.Ended)
	err := m.config.Prepare(ctx, m.all())
	m.count()
	return err
}

func (m *Member) take(h *Owned) {
	h.Lowwater = m.Lowwater.New(h.Shard)
	if m.config.Acquired != nil {
		h.lost = m.config.Acquired(h)
	}
	m.owned[h.Shard].Store(h)
}

// all returns every owned shard, ready or not.
func (m *Member) all() (all []*Owned) {
	for i := range m.owned {
		if h := m.owned[i].Load(); h != nil {
			all = append(all, h)
		}
	}
	return all
}

func (m *Member) disown(i int, state claimState) {
	if h := m.owned[i].Swap(nil); h != nil {
		if h.lost != nil {
			h.lost()
		}
		h.Lowwater.Leave()
	}
	state.listed = m.states[i].listed
	m.states[i] = state
}
