package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/store/lowwater"
	"github.com/foliot/foliot/internal/task"
)

var _ store.Store = (*Store)(nil)

// Store is a store.Store that keeps tasks in a directory that no other process uses.
// Any goroutine can call any method.
//
// Open starts two goroutines, committer and syncer, and Close stops them and waits.
//
// A failure of the medium is final, because the losses of a failed fsync are unknown:
// the store refuses all calls, and the process should end. Pebble may be stuck in the
// middle of a step, so the directory stays locked until then.
type Store struct {
	dir    string
	config Config
	db     *pebble.DB
	lock   *pebble.Lock // the lock of the directory

	watermark *watermark // each note has one writer at a time

	lanes     *lowwater.Set
	progress  progress
	queue     queue
	counts    counts
	abandoned kernel.Abandoned

	store.Watchers // called by the syncer

	// settings are the synced settings, which Open and the syncer store.
	settings atomic.Pointer[settings.Settings]

	// dbMu is held for reading while db is read, so that Close cannot close db during
	// a read, and for writing while closed is written.
	dbMu   sync.RWMutex
	closed atomic.Bool

	backup sync.Mutex // held while a backup is under way

	running   atomic.Bool // true from the end of Open until Close closes Pebble; Pebble's goroutines read it
	failOnce  sync.Once
	failed    chan struct{}         // closed when the store has failed
	failure   atomic.Pointer[error] // set once, before failed is closed
	stuckOnce sync.Once
	stuck     chan struct{} // closed when Pebble is stuck in the middle of a step and cannot be closed

	committerDone chan struct{}
	syncerDone    chan struct{}

	closeOnce sync.Once
	closeErr  error
}

// Standing implements store.Store, with the level "synced": confirmed changes are in a
// synced log.
func (s *Store) Standing() store.Standing {
	st := store.Standing{Durability: "synced", Err: s.broken(), Settings: s.settings.Load()}
	if st.Err == nil && s.closed.Load() {
		st.Err = task.ErrClosed
	}
	return st
}

func (s *Store) broken() error {
	if err := s.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// Close waits for the calls under way, marks the directory as closed in order,
// and releases it. After a failure of the medium it returns that failure.
func (s *Store) Close() error {
	s.closeOnce.Do(func() { s.closeErr = s.close() })
	return s.closeErr
}

func (s *Store) close() error {
	s.queue.close()
	select {
	case <-s.failed:
	case <-s.syncerDone:
	}
	s.dbMu.Lock()
	s.closed.Store(true)
	s.dbMu.Unlock()
	if !s.ended() {
		return s.broken()
	}
	err := s.broken()
	if err == nil {
		err = s.settleDown()
	}
	if s.isStuck() {
		return err
	}
	s.running.Store(false)
	err = errors.Join(err, s.db.Close(), s.watermark.file.Close(), s.lock.Close())
	if err != nil {
		return fmt.Errorf("close the data directory %s: %w", s.dir, err)
	}
	return nil
}

// giveUp is how long Close waits for the goroutines of a store that has failed.
const giveUp = 5 * time.Second

// ended waits until committer and syncer have ended, and reports whether Pebble can be
// closed, because after a failure either of them can hang inside it.
func (s *Store) ended() bool {
	late := time.After(giveUp)
	for _, done := range []<-chan struct{}{s.committerDone, s.syncerDone} {
		select {
		case <-done:
		case <-s.stuck:
			return false
		case <-late:
			return false
		}
	}
	return !s.isStuck()
}

// settleDown marks the directory as closed in order. If the medium fails during that,
// Pebble is left as it is, because it might try again forever.
func (s *Store) settleDown() error {
	done := make(chan error, 1)
	go func() { done <- s.markClean() }()
	select {
	case err := <-done:
		return err
	case <-s.failed:
		s.markStuck()
		return s.broken()
	}
}

// markClean records that nothing is under way, and moves all changes from the log into
// tables, where each block has a checksum, even the last one.
func (s *Store) markClean() error {
	if err := s.db.Set(cleanKey, nil, pebble.Sync); err != nil {
		return err
	}
	return s.db.Flush()
}

// fail stops the store for good, and only the first cause counts. OnFatal is called
// before any goroutine can act on the failure, because a Close that sees it may end
// the process.
func (s *Store) fail(op string, cause error) {
	s.failOnce.Do(func() {
		report := s.config.OnFatal != nil && s.running.Load() // before a Close can see the failure and give up
		err := fmt.Errorf("the data directory %s failed: %s: %w; the server stops, and all confirmed changes are kept: free space on the disk or replace it, then start the server again", s.dir, op, cause)
		s.failure.Store(&err)
		s.noteFailure()
		if report {
			s.config.OnFatal(err)
		}
		close(s.failed)
	})
}

// noteWait is how long a store that has failed waits for its note of the failure,
// because on a frozen file system the write does not return.
const noteWait = time.Second

// noteFailure records in the directory that the medium failed, so that the next start
// counts the stop against no task.
func (s *Store) noteFailure() {
	noted := make(chan struct{})
	go func() {
		defer close(noted)
		_ = s.watermark.setFailed(true) // if this fails, the tasks are blamed
	}()
	select {
	case <-noted:
	case <-time.After(noteWait):
	}
}

// markStuck records that Pebble is stuck in the middle of a step.
func (s *Store) markStuck() { s.stuckOnce.Do(func() { close(s.stuck) }) }

func (s *Store) isStuck() bool {
	select {
	case <-s.stuck:
		return true
	default:
		return false
	}
}

// stopped returns the error of all calls after a failure.
func (s *Store) stopped() error { return fmt.Errorf("%w: %w", task.ErrStopped, s.broken()) }

// read runs use while the database can be read, and returns when all changes that use
// can have seen are synced. An error of use is a failure of the medium, and stops the
// store.
func (s *Store) read(ctx context.Context, op string, use func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.locked(op, use); err != nil {
		return err
	}
	return s.wait(ctx, s.progress.announced.Load())
}

func (s *Store) locked(op string, use func() error) error {
	s.dbMu.RLock()
	defer s.dbMu.RUnlock()
	if s.broken() != nil {
		return s.stopped()
	}
	if s.closed.Load() {
		return task.ErrClosed
	}
	if err := use(); err != nil {
		s.fail(op, err)
		return s.stopped()
	}
	return nil
}

func (s *Store) wait(ctx context.Context, n uint64) error {
	for {
		moved, done := s.progress.reached(n)
		if done {
			return nil
		}
		select {
		case <-moved:
		case <-s.failed:
			return s.stopped()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// progress tracks the batches on their way to the disk.
type progress struct {
	// announced is the number of the newest batch that must be synced. The committer
	// stores it before it applies the batch, and readers load it after their reads.
	announced atomic.Uint64

	mu     sync.Mutex    // guards everything below
	synced uint64        // all batches up to this number are synced
	moved  chan struct{} // closed when synced moves; nil if no caller waits
}

// reached reports whether batch n is synced, and if not, returns a channel that is
// closed when the caller should ask again.
func (p *progress) reached(n uint64) (<-chan struct{}, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.synced >= n {
		return nil, true
	}
	if p.moved == nil {
		p.moved = make(chan struct{})
	}
	return p.moved, false
}

// move records that all batches up to n are synced.
func (p *progress) move(n uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.synced = n
	if p.moved != nil {
		close(p.moved)
		p.moved = nil
	}
}

func (p *progress) newest() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.synced
}
