package pgstore

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/task"
)

// DefaultShards is the number of shards of a new store.
const DefaultShards = 32

// Config configures a Store.
type Config struct {
	// URL names the server, the database and, by search_path, the schema.
	// Required.
	URL string

	// Policy says how long records are kept after their end, where zero fields have
	// the defaults of task.Policy.
	Policy task.Policy

	// AuditKeep is how long entries of the audit log are kept. Default: 30 days.
	AuditKeep time.Duration

	// CallersClock makes the times that callers pass the only clock, for tests with
	// an artificial time and without other nodes.
	CallersClock bool

	// OnReap is called with the tasks whose leases Reap took back, in their new
	// state. It must not call the store. Default: none.
	OnReap func(left []*task.Task)

	// Logger receives the log. Default: none.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Policy = c.Policy.WithDefaults()
	c.AuditKeep = cmp.Or(c.AuditKeep, store.DefaultAuditKeep)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Store is a store.Store in PostgreSQL.
type Store struct {
	store.Watchers

	config Config
	pool   *pgxpool.Pool
	shards int
	node   string // this process

	claimed   claimedRecords
	lanes     lanes
	abandoned kernel.Abandoned
	settings  atomic.Pointer[configuration]

	configuring sync.Mutex // held while settings are changed and the watcher is called
	limiting    sync.Mutex // held by calls in namespaces with quotas

	calls  sync.RWMutex // held for reading by every call, for writing by Close
	closed atomic.Bool  // written under calls
}

//go:embed schema/0001.sql
var schema string

// Migrate makes the tables of a store, unless they exist.
func Migrate(ctx context.Context, url string) error {
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	var there bool
	if err := c.QueryRow(ctx, "SELECT to_regclass('meta') IS NOT NULL").Scan(&there); err != nil || there {
		return err
	}
	return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, schema); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "INSERT INTO meta VALUES (1, $1, 6000, $2)", DefaultShards, rand.Text())
		if err == nil {
			_, err = tx.Exec(ctx, "INSERT INTO shard (n) SELECT generate_series(0, $1 - 1)", DefaultShards)
		}
		return err
	})
}

// Open opens the store that c names.
func Open(ctx context.Context, c Config) (*Store, error) {
	c = c.withDefaults()
	pool, err := pgxpool.New(ctx, c.URL)
	if err != nil {
		return nil, err
	}
	s := &Store{config: c, pool: pool, node: rand.Text(), claimed: claimedRecords{m: map[task.Key]record{}}}
	if err := s.open(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	format := 0
	err := s.pool.QueryRow(ctx, "SELECT format, shards FROM meta").Scan(&format, &s.shards)
	switch {
	case code(err) == "42P01":
		return errors.New("the schema has no tables: run foliot postgres migrate")
	case err != nil:
		return err
	case format != 1:
		return fmt.Errorf("the tables have format %d, and this version reads format 1: run foliot postgres migrate of the newest version", format)
	}
	s.settings.Store(&configuration{settings: settings.NewSettings()})
	if _, err := s.reloadLocked(ctx); err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	return s.survey(ctx, s.all())
}

// all returns the numbers of all shards.
func (s *Store) all() []int16 {
	all := make([]int16, s.shards)
	for i := range all {
		all[i] = int16(i)
	}
	return all
}

// Standing implements store.Store.
func (s *Store) Standing() store.Standing {
	st := store.Standing{Durability: "synced", Settings: s.settings.Load().settings}
	if s.closed.Load() {
		st.Err = task.ErrClosed
	}
	return st
}

// call makes a call, unless s is closed. Close waits for calls, so no call makes
// another one.
func call[T any](ctx context.Context, s *Store, do func() (T, error)) (result T, err error) {
	if err := ctx.Err(); err != nil {
		return result, err
	}
	s.calls.RLock()
	defer s.calls.RUnlock()
	if s.closed.Load() {
		return result, task.ErrClosed
	}
	done, err := do()
	if err != nil {
		return result, s.failure(err)
	}
	return done, nil
}

// Close implements store.Store.
func (s *Store) Close() error {
	s.calls.Lock()
	defer s.calls.Unlock()
	if !s.closed.Swap(true) {
		s.pool.Close()
	}
	return nil
}
