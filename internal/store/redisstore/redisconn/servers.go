package redisconn

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/sparselog"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/serverclock"
	"github.com/foliot/foliot/internal/task"
)

// Config names the servers of a store, and sets the conditions that they must
// meet.
type Config struct {
	Client     rueidis.ClientOption
	Prefix     string // the first word of all keys and channels; empty means keyspace.DefaultPrefix
	Durability Durability

	Unsafe bool // accept servers that delete keys, or do not sync a file

	Embedded  bool // the program has no flags, so no message names one
	Subscribe bool // use a separate client for subscriptions
	Logger    *slog.Logger
}

// Servers is the Redis of a store: one server or several. Start starts the
// goroutine that watches it, and batches run in goroutines too; Close waits for
// all of them.
type Servers struct {
	conns          *connections // the connections of Client and Subscriber
	Client         rueidis.Client
	Subscriber     rueidis.Client // for subscriptions; nil if no other node uses the servers
	Keys           *keyspace.Keys // of the store
	Cluster        bool           // a call can touch only one slot
	level          Durability
	ReplicaTimeout time.Duration // the longest wait for replicas to confirm
	logger         *slog.Logger
	Failures       *FailureLog
	opened         time.Time // the base of periodic calls; see Await

	Masters      atomic.Pointer[Masters]
	Replaced     atomic.Uint64            // how often a master was restarted or replaced: it may have lost writes
	sentinels    atomic.Pointer[[]string] // host:port, as a Sentinel reported them; nil means that no Sentinel has
	replicated   atomic.Bool              // a master has had a replica since the store was opened
	ShortBatches atomic.Int64             // batches that too few replicas confirmed
	Clocks       *serverclock.Clocks
	Counters     *Counters
	recheck      chan struct{}         // asks the watch for a check: the masters may have changed
	Absent       atomic.Pointer[error] // why no master accepted writes at the last check; nil means that one did
	Unfit        atomic.Pointer[error] // why one of the masters can lose tasks; nil means that all are fit
	config       Config
	Identity     string             // the identity of the store; "" until it is known, then never changed
	logged       map[string]fitness // the key is the address; only the watch uses it after fit

	mu        sync.Mutex           // guards pipelines
	pipelines map[string]*pipeline // the key is the master's address, with separate ones for the shared client

	work     sync.WaitGroup // batches and watches
	stopping sync.Once
	closing  chan struct{}   // closed by Stop: no try is repeated from then on
	Lifetime context.Context // ends after Stop: calls under way are given up, and connections close
	end      context.CancelFunc
}

func newServers(c Config) (*Servers, error) {
	conns, o := newConnections(), tuned(c.Client)
	if o.DialCtxFn != nil {
		conns.dial = o.DialCtxFn
	}
	o.DialCtxFn = conns.open
	client, subscriber, err := dialClients(o, c.Subscribe)
	if err != nil {
		conns.end()
		if _, replied := rueidis.IsRedisErr(err); !replied {
			err = task.Unavailable(err)
		}
		return nil, fmt.Errorf("connect to the Redis at %s: %w", named(o), err)
	}
	return &Servers{
		conns: conns, Lifetime: conns.lifetime, end: conns.end, opened: time.Now(),
		Client: client, Subscriber: subscriber, Keys: keyspace.NewKeys(cmp.Or(c.Prefix, keyspace.DefaultPrefix), o.SelectDB), Cluster: client.Mode() == rueidis.ClientModeCluster,
		level: c.Durability, ReplicaTimeout: c.Durability.replicaTimeout(), logger: c.Logger, Failures: &FailureLog{sparselog.Failures{Logger: c.Logger}},
		pipelines: map[string]*pipeline{}, closing: make(chan struct{}), Clocks: serverclock.New(), Counters: newCounters(), recheck: make(chan struct{}, 1), config: c, logged: map[string]fitness{},
	}, nil
}

// Connect returns the servers that c names, or an error if the store must not use
// them.
func Connect(ctx context.Context, c Config) (*Servers, error) {
	s, err := Link(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := s.fit(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Link connects to the servers that c names, and does not check whether they
// are fit. While the servers of a Cluster read their files, they do not report
// the slots: Link waits for that.
func Link(ctx context.Context, c Config) (*Servers, error) {
	for try := 0; ; try++ {
		s, err := newServers(c)
		if err == nil || !strings.Contains(err.Error(), "LOADING ") {
			return s, err
		}
		if err := c.awaitLoading(ctx, try, ""); err != nil {
			return nil, err
		}
	}
}

// named returns the servers that o names. The one server of a Cluster may be in
// the list twice, because the client requires that.
func named(o rueidis.ClientOption) string {
	return strings.Join(slices.Compact(slices.Clone(o.InitAddress)), ", ")
}

// dialClients returns a client for calls, and one for subscriptions if listen is
// true. Subscriptions need connections of their own: Redis closes one if too many
// messages wait there, and all other calls on it would fail with it.
func dialClients(o rueidis.ClientOption, listen bool) (client, subscriber rueidis.Client, err error) {
	if client, err = rueidis.NewClient(o); err != nil || !listen {
		return client, nil, err
	}
	o.ReadBufferEachConn, o.WriteBufferEachConn = 16<<10, 16<<10
	if subscriber, err = rueidis.NewClient(o); err != nil {
		client.Close()
	}
	return client, subscriber, err
}

// Start starts the goroutines that check the masters and read the Sentinels.
func (s *Servers) Start() {
	s.work.Go(s.watch)
	if s.config.Client.Sentinel.MasterSet != "" {
		s.work.Go(s.watchSentinels)
	}
}

// callsEnd is how long calls under way can take after Stop.
const callsEnd = 600 * time.Millisecond

// Stop makes calls end soon: at once if their servers are away, others with their
// reply, or after callsEnd.
func (s *Servers) Stop() {
	s.stopping.Do(func() {
		close(s.closing)
		time.AfterFunc(callsEnd, s.end)
	})
}

// Close stops the goroutines and closes all connections. No call may begin
// after Close.
func (s *Servers) Close() {
	s.Stop()
	s.end()
	s.work.Wait()
	for _, l := range s.pipelines { // no batch is under way
		for _, conn := range l.idle {
			conn.Close()
		}
	}
	if s.Subscriber != nil {
		s.Subscriber.Close()
	}
	s.Client.Close()
}

// Slot returns the slot of a shard, where nil stands for the settings; without a
// Cluster all slots are 0.
func (s *Servers) Slot(sh *keyspace.Shard) uint16 {
	switch {
	case !s.Cluster:
		return 0
	case sh == nil:
		return keyspace.SlotOf("settings")
	}
	return sh.Slot
}

// Room returns the reason why the shard's master takes no new tasks, nil if it
// takes them. Errors: task.ErrStoreUnfit, task.ErrFull.
func (s *Servers) Room(sh *keyspace.Shard) error {
	m := s.Masters.Load()
	slot := uint16(0)
	if s.Cluster {
		slot = sh.Slot
	}
	addr := m.Of(slot)
	how := m.how[addr]
	if len(how.unfit) > 0 {
		return fmt.Errorf("%w: %w", task.ErrStoreUnfit, how.unfit[0])
	}
	if why := how.crowded(addr); why != "" {
		return fmt.Errorf("%w: %s", task.ErrFull, why)
	}
	return nil
}

// Write runs a script that writes, once for each of runs, and returns the
// replies. runs[i] belongs to shards[i]; nil stands for the settings. All
// writes are durable when Write returns.
func (s *Servers) Write(ctx context.Context, sc *Script, shards []*keyspace.Shard, runs []Run) ([][]rueidis.RedisMessage, error) {
	writes := make([]*write, len(runs))
	for i, one := range runs {
		writes[i] = s.newWrite(sc, shards[i])
		writes[i].run = one
	}
	results, err := s.send(ctx, writes)
	out := make([][]rueidis.RedisMessage, len(results))
	for i, l := range results {
		out[i], err = l.values, cmp.Or(err, l.err)
	}
	return out, err
}

// Confirm makes all that shards hold now as durable as the level requires. It
// serves mutations that found nothing left to change, and reports whether the
// level is Default and no replica confirmed some of it.
func (s *Servers) Confirm(ctx context.Context, shards []*keyspace.Shard) (unconfirmed bool, err error) {
	var writes []*write
	met := map[string]bool{}
	for _, sh := range shards {
		addr := s.Masters.Load().Of(s.Slot(sh))
		switch {
		case met[addr]:
			continue
		case s.Wants(addr) == 0:
			unconfirmed = s.level == Default
			continue
		}
		met[addr] = true
		w := s.newWrite(seal, sh)
		w.run = w.seal(s.Keys)
		writes = append(writes, w)
	}
	results, err := s.send(ctx, writes)
	for _, l := range results {
		unconfirmed, err = unconfirmed || l.unconfirmed, cmp.Or(err, l.err)
	}
	return unconfirmed, err
}
