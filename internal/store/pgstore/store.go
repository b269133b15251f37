package pgstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/semaphore"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/sparselog"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/store/membership"
	"github.com/foliot/foliot/internal/store/quota"
	"github.com/foliot/foliot/internal/store/serverclock"
	"github.com/foliot/foliot/internal/store/sqltask"
	"github.com/foliot/foliot/internal/task"
)

// Config configures a Store.
type Config struct {
	// URL names the server, the database and, by search_path, the schema.
	// Required, unless Pool is set.
	URL string

	// Pool has the settings of a program's pool, and Schema the name of the schema, in
	// place of URL. The store makes connections of its own with these settings.
	Pool   *pgxpool.Config
	Schema string

	// Durability defines the meaning of a nil error of a change, unless URL does.
	// Default: "default".
	Durability Durability

	store.Shared
}

func (c Config) withDefaults() Config {
	c.Durability = cmp.Or(LevelOf(c.URL), c.Durability, defaultLevel)
	c.Shared = c.Shared.WithDefaults()
	return c
}

// Store is a store.Store in PostgreSQL.
type Store struct {
	store.Watchers
	kernel.Queries
	*serverclock.Times

	config  Config
	pool    *pgxpool.Pool // of reads, and of writes that wait for nothing
	commits *pgxpool.Pool // of the changes whose commit waits
	schema  schema
	pooled  bool   // a pooler is between this process and the server
	id      string // the identity of the store
	shards  int
	lease   time.Duration          // of shards
	node    atomic.Pointer[string] // this process, in the news that it writes, with a new name after an unclear write
	channel string                 // of the messages of nodes
	opened  time.Time
	silent  time.Duration // how long a transaction can last, unless its COMMIT waits for a standby

	member    *membership.Member
	claimed   kernel.Claimed[sqltask.Record]
	abandoned kernel.Abandoned
	met       sqltask.Locked
	clocks    *serverclock.Clocks
	listeners listeners
	unapplied *sqltask.Unapplied
	failures  sparselog.Failures
	absent    atomic.Pointer[error] // the error of the last poll, if nothing was heard since
	forbidden atomic.Pointer[error] // the user may not write pending operations, which are in no lane, so no metric shows them
	replied   atomic.Int64          // when the server last answered a poll or a heartbeat, after opened
	busy      atomic.Int64          // when this node had work, after opened
	acquired  atomic.Int64          // when it acquired shards, after opened
	waits     atomic.Bool           // commits wait for a standby
	recovery  string                // of the server, as the last heartbeat found it; the loop of member uses it
	beaten    task.Millis           // when the last heartbeat was written; the loop of member uses it
	examined  time.Time             // when a heartbeat last looked for the oldest snapshot; the loop of member uses it
	oldest    atomic.Int64          // see store.Postgres
	preparing chan error            // of the read of acquired shards that is under way; the loop of member uses it
	atOnce    int                   // how many acquired shards a statement reads; the read that is under way uses it
	rollbacks atomic.Uint64         // see store.Membership
	lost      atomic.Pointer[error] // why the store is closed: see compare; nil means that it is open

	polling   *semaphore.Weighted    // guards last, and is held while the news are read
	last      string                 // the snapshot of the last read of the news
	postponed bool                   // polls left out pending operations, because they could not read changed settings
	folded    atomic.Pointer[string] // the snapshot of the last fold
	stirred   atomic.Bool            // there are news to fold
	folds     chan struct{}          // a poll has read some of them

	leases, ended look // of Reap and Sweep

	settings    atomic.Pointer[configuration]
	applied     atomic.Pointer[string] // the version that the watcher has seen
	configuring sync.Mutex             // held while settings are read and the watcher is called
	quotas      quota.Quotas
	together    sqltask.Batches[class, ending]
	loners      *semaphore.Weighted // held by the writes that can meet a locked name
	asks        atomic.Uint64       // numbers the asks for permits

	calls   store.Calls
	closing context.Context
	stop    context.CancelFunc
	working sync.WaitGroup
}

// Open opens the store that c names.
func Open(ctx context.Context, c Config) (*Store, error) {
	c = c.withDefaults()
	if err := c.Check(); err != nil {
		return nil, err
	}
	conns, path, err := c.Pool, c.Schema, error(nil)
	if conns == nil {
		conns, path, err = parse(c.URL)
	} else {
		c.URL = conns.ConnString()
	}
	if err != nil {
		return nil, err
	}
	s := &Store{
		config: c, opened: time.Now(), silent: 2 * statementEnds, clocks: serverclock.New(),
		listeners: listeners{news: make(chan struct{}, 1), out: make(chan string, 256)}, failures: sparselog.Failures{Logger: c.Logger},
		unapplied: sqltask.NewUnapplied(), polling: semaphore.NewWeighted(1), folds: make(chan struct{}, 1), loners: semaphore.NewWeighted(2),
		leases: look{late: lateLease}, ended: look{late: lateRecord},
	}
	s.calls.Failure, s.calls.Refuse = failure, s.isLost
	s.Queries = kernel.Queries{Calls: &s.calls, Reader: reader{s}, Read: s.tasks}
	s.node.Store(new(rand.Text()))
	s.last = nothingSeen
	s.folded.Store(new(nothingSeen))
	s.busy.Store(-int64(busyFor))
	s.together.Write = s.write
	s.together.Undid = func(err error) bool { return !unclear(err) }
	s.together.Go, s.together.Alone = s.working.Go, byItself
	s.quotas.Settings = func() *settings.Settings { return s.settings.Load().settings }
	s.quotas.CountAll = func(ctx context.Context) (all map[task.QueueKey]task.Counts, err error) {
		err = within(ctx, func(ctx context.Context) error {
			all, err = s.readCounts(ctx, s.pool)
			return err
		})
		return all, err
	}
	s.closing, s.stop = context.WithCancel(context.Background())
	err = s.connect(ctx, conns, path)
	if err == nil {
		err = explain("open", c.URL, s.open(ctx))
	}
	if err != nil {
		s.stop()
		s.working.Wait()
		s.disconnect()
		return nil, err
	}
	return s, nil
}

func (s *Store) disconnect() {
	for _, pool := range []*pgxpool.Pool{s.pool, s.commits} {
		if pool != nil {
			pool.Close()
		}
	}
}

func (s *Store) open(ctx context.Context) error {
	s.settings.Store(&configuration{settings: settings.NewSettings()})
	s.applied.Store(new(string))
	s.atOnce = s.shards
	if err := s.reload(ctx); err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	s.member = membership.New(s.memberConfig(), registry{s})
	s.Times = serverclock.NewTimes(s.clocks, s.config.CallersClock, s.config.Logger, s.member.WakeLoop, s.member.OthersLag)
	if s.config.CallersClock {
		return s.member.TakeAll(ctx)
	}
	if err := s.poll(ctx); err != nil {
		return err
	}
	if s.config.Durability == strictLevel && !s.waits.Load() {
		s.config.Logger.Warn("synchronous_standby_names is empty, so no change is confirmed at the level strict: name the standbys there")
	}
	for _, work := range []func(context.Context){s.pollAll, s.foldAll, s.sendAll, s.listenAll, s.applyAll} {
		s.working.Go(func() { work(s.closing) })
	}
	if !s.config.Embedded {
		s.Join()
	}
	return nil
}

// Join makes this process one of the nodes until Release, and must be called at most
// once.
func (s *Store) Join() { s.member.Join() }

func (s *Store) now() task.Millis { return task.FloorMillis(s.Now()) }

// Standing implements store.Store.
func (s *Store) Standing() store.Standing {
	st := store.Standing{Durability: string(s.config.Durability), Settings: s.settings.Load().settings, Shared: !s.config.CallersClock, Membership: s.member.Standing()}
	st.Postgres = &store.Postgres{NotListening: !s.pooled && !s.listeners.hears.Load(), OldestSnapshot: time.Duration(s.oldest.Load())}
	st.Err, st.Rollbacks = s.calls.Err(), s.rollbacks.Load()
	switch why := cmp.Or(s.absent.Load(), s.forbidden.Load()); {
	case st.Err != nil, why == nil:
	case code(*why) == notAllowed:
		st.Err = fmt.Errorf("%w: PostgreSQL: %w: %s", task.ErrUnavailable, *why, remedies[notAllowed])
	default:
		st.Err = failure(*why)
	}
	return st
}

// closeWaits is how long Close waits for calls. A COMMIT can wait for a standby for ever.
const closeWaits = 2 * time.Second

// Close implements store.Store.
func (s *Store) Close() error {
	s.Release()
	defer time.AfterFunc(closeWaits, s.stop).Stop()
	if !s.calls.Close() {
		return nil
	}
	s.stop()
	s.working.Wait()
	<-s.member.Ended
	s.disconnect()
	return nil
}

// Endpoints returns host:port of the servers that the URL names, and of the APIs of all
// nodes, because tasks must not reach them. It can contain one several times.
func (s *Store) Endpoints() []string {
	c, all := s.pool.Config().ConnConfig, s.member.APIs()
	for _, at := range append([]*pgconn.FallbackConfig{{Host: c.Host, Port: c.Port}}, c.Fallbacks...) {
		if !strings.HasPrefix(at.Host, "/") { // no socket in a directory
			all = append(all, net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port))))
		}
	}
	return all
}
