package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/foliot/foliot/internal/store/marks"
	"github.com/foliot/foliot/internal/task"
)

var _ task.Store = (*Store)(nil)

// Store keeps tasks in a directory that it has for itself. It implements
// task.Store; any goroutine may call any method.
//
// Open starts two goroutines, committer and syncer; Close stops them and waits.
//
// A failure of the medium is final: the store answers nothing more, because
// what a failed fsync has lost cannot be known. Err then says why, and the
// process should end: a part of Pebble may be left in the middle of a step, so
// the directory stays locked until then.
type Store struct {
	dir    string
	config Config
	db     *pebble.DB
	lock   *pebble.Lock // of the directory

	watermark *watermark // written by the syncer alone

	lanes    *marks.Set
	progress progress
	queue    queue
	watcher  atomic.Pointer[func([]task.Entry)] // set by Watch, read by syncer; one word, so no lock
	counts   counts
	strays   strays

	// settings is what is synced of the settings. Open and the syncer store it, Settings loads it.
	settings atomic.Pointer[task.Settings]
	told     atomic.Pointer[func(*task.Settings)] // set by WatchSettings, read by syncer

	// gate is held for reading while db is read, so that Close cannot take db
	// away from under a reader. closed is written while it is held for writing.
	gate   sync.RWMutex
	closed bool

	backup sync.Mutex // held while a backup is under way

	running   atomic.Bool // Open has returned and Close has not begun to close Pebble: they set it, Pebble's goroutines read it
	failOnce  sync.Once
	failed    chan struct{}         // closed when the store has failed
	failure   atomic.Pointer[error] // set once, before failed is closed
	wedgeOnce sync.Once
	wedged    chan struct{} // closed when Pebble is left in the middle of a step, so that it cannot be closed

	committerDone chan struct{}
	syncerDone    chan struct{}

	closeOnce sync.Once
	closeErr  error
}

// Durability returns "synced": what was answered is in a synced log.
func (s *Store) Durability() string { return "synced" }

// Err returns nil while the store works, and otherwise what stopped it:
// a failure of the medium, or task.ErrClosed.
func (s *Store) Err() error {
	if err := s.broken(); err != nil {
		return err
	}
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.closed {
		return task.ErrClosed
	}
	return nil
}

// broken returns the failure of the medium, or nil.
func (s *Store) broken() error {
	if err := s.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// Watch implements task.Queue.
func (s *Store) Watch(hint func([]task.Entry)) {
	if hint == nil {
		s.watcher.Store(nil)
		return
	}
	s.watcher.Store(&hint)
}

// Close waits for the calls under way, notes in the directory that it was
// closed in order, and releases it. After a failure of the medium it returns
// that failure.
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
	s.gate.Lock()
	s.closed = true
	s.gate.Unlock()
	if !s.ended() {
		return s.broken()
	}
	err := s.broken()
	if err == nil {
		err = s.settleDown()
	}
	if s.isWedged() {
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

// ended waits until committer and syncer have ended, and reports whether Pebble
// can be closed. After a failure either of them may hang inside Pebble.
func (s *Store) ended() bool {
	late := time.NewTimer(giveUp)
	defer late.Stop()
	for _, done := range []<-chan struct{}{s.committerDone, s.syncerDone} {
		select {
		case <-done:
		case <-s.wedged:
			return false
		case <-late.C:
			return false
		}
	}
	return !s.isWedged()
}

// settleDown marks the directory as closed in order. Where the medium fails only
// now, Pebble is left at it: it may try again for ever.
func (s *Store) settleDown() error {
	done := make(chan error, 1)
	go func() { done <- s.markClean() }()
	select {
	case err := <-done:
		return err
	case <-s.failed:
		s.wedge()
		return s.broken()
	}
}

// markClean notes that nothing is under way. It also moves everything out of
// the log into tables, each block of which has a checksum: a log cannot tell a
// flipped bit in its last record from a record that was never finished.
func (s *Store) markClean() error {
	if err := s.db.Set(cleanKey, nil, pebble.Sync); err != nil {
		return err
	}
	return s.db.Flush()
}

// fail stops the store for good, because of cause. The first cause counts.
// OnFatal is told before anybody can act on the failure: a Close that sees it
// may be the last thing the process does.
func (s *Store) fail(op string, cause error) {
	s.failOnce.Do(func() {
		tell := s.config.OnFatal != nil && s.running.Load() // before a Close can see the failure and give up
		err := fmt.Errorf("the data directory %s failed: %s: %w; the server accepts and sends nothing more; free or replace the disk and start again: confirmed changes are kept", s.dir, op, cause)
		s.failure.Store(&err)
		s.noteFailure()
		if tell {
			s.config.OnFatal(err)
		}
		close(s.failed)
	})
}

// noteWait is how long a store that has failed waits for its note of the failure.
const noteWait = time.Second

// noteFailure notes in the directory that the medium failed, so that the next start
// counts the stop against no task. The process ends after that, with or without the
// note: on a frozen file system the write does not return.
func (s *Store) noteFailure() {
	noted := make(chan struct{})
	go func() {
		defer close(noted)
		_ = s.watermark.setFailed(true) // without the note the tasks are blamed
	}()
	late := time.NewTimer(noteWait)
	defer late.Stop()
	select {
	case <-noted:
	case <-late.C:
	}
}

// wedge notes that Pebble is left in the middle of a step.
func (s *Store) wedge() { s.wedgeOnce.Do(func() { close(s.wedged) }) }

func (s *Store) isWedged() bool {
	select {
	case <-s.wedged:
		return true
	default:
		return false
	}
}

// stopped is what callers get after a failure.
func (s *Store) stopped() error { return fmt.Errorf("%w: %w", task.ErrClosed, s.broken()) }

// read runs use while the database may be read, and returns when everything
// that use can have seen is synced. An error of use is the medium's, and stops
// the store.
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
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.broken() != nil {
		return s.stopped()
	}
	if s.closed {
		return task.ErrClosed
	}
	if err := use(); err != nil {
		s.fail(op, err)
		return s.stopped()
	}
	return nil
}

// wait waits until batch n is synced.
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

// progress counts the batches on their way to the disk.
type progress struct {
	// announced is the number of the newest batch that is to be synced. The
	// committer stores it before it applies the batch, so a reader that loads
	// it after its read gets a number that is not below any batch it has seen.
	announced atomic.Uint64

	mu     sync.Mutex    // guards everything below
	synced uint64        // all batches up to this number
	moved  chan struct{} // closed when synced moves; nil while nobody waits
}

// reached reports whether batch n is synced, and otherwise returns a channel
// that is closed when there is reason to ask again.
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

// move notes that all batches up to n are synced.
func (p *progress) move(n uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.synced = n
	if p.moved != nil {
		close(p.moved)
		p.moved = nil
	}
}

// newest returns the number of the newest synced batch.
func (p *progress) newest() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.synced
}
