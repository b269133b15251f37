package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/store/pebblestore/marker"
	"github.com/foliot/foliot/internal/task"
)

// pebbleFormat is the format of Pebble's files, which must have sync chunks in the log.
// Without them a flipped bit in the middle of the log looks like its end, and
// everything after it is lost without an error.
const pebbleFormat = pebble.FormatValueSeparation

// Open opens the store in dir, or creates it if dir is empty or does not exist, and
// reaps the leases of the previous process. The cost does not grow with the number of
// tasks, but with the number of lanes, of leases, and of the bytes that were in memory
// when the process was killed.
//
// Errors: ErrInUse, codec.ErrOtherFormat, marker.ErrForeign, errDirectory, or those of the
// file system. In the first three cases nothing was written.
func Open(dir string, config Config) (*Store, error) {
	config = config.withDefaults()
	lock, err := prepare(config.FS, dir)
	if err != nil {
		return nil, err
	}
	if config.MemTableSize == 0 {
		config.MemTableSize = memTableSize(spaceOf(config.FS, dir))
	}
	s := &Store{
		dir: dir, config: config, lock: lock,
		failed:        make(chan struct{}),
		stuck:         make(chan struct{}),
		committerDone: make(chan struct{}),
		syncerDone:    make(chan struct{}),
	}
	s.queue.wake = make(chan struct{}, 1)
	if err := s.start(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Store) start() error {
	err := s.config.FS.RemoveAll(s.config.FS.PathJoin(s.dir, checkpointDir)) // left by a backup during a crash
	if err != nil {
		return explain(s.dir, errors.Join(err, s.lock.Close()))
	}
	if s.watermark, err = openWatermark(s.config.FS, s.dir); err != nil {
		return explain(s.dir, errors.Join(err, s.lock.Close()))
	}
	fresh, err := s.openPebble()
	if err != nil {
		if !s.isStuck() {
			err = errors.Join(err, s.watermark.file.Close(), s.lock.Close())
		}
		return explain(s.dir, err)
	}
	c, err := s.load(fresh)
	if err != nil {
		return explain(s.dir, errors.Join(err, s.db.Close(), s.watermark.file.Close(), s.lock.Close()))
	}
	go c.run()
	go s.syncer(c.toSyncer)
	if err := s.reapAll(); err != nil {
		return explain(s.dir, errors.Join(err, s.Close()))
	}
	s.running.Store(true)
	if err := s.broken(); err != nil { // it failed after reapAll, before OnFatal could be called
		return explain(s.dir, errors.Join(err, s.Close()))
	}
	return nil
}

// load checks the contents of the database, reads the parts that are kept in memory,
// and returns the committer. fresh reports that there was no database.
func (s *Store) load(fresh bool) (*committer, error) {
	c := &committer{
		Store:    s,
		toSyncer: make(chan *writeBatch, maxUnsynced),
		filling:  &writeBatch{},
		recent:   make(map[task.Key]recent),
		cache:    newRecordCache(),
		bodies:   make(map[task.Key][]byte),
		idem:     make(map[idemKey]string),
	}
	var err error
	if c.number, c.entry, err = s.readEnd(); err != nil {
		return nil, err
	}
	if err := errors.Join(s.watermark.set(c.number), s.watermark.file.Sync()); err != nil {
		return nil, err
	}
	s.progress.move(c.number)
	s.progress.announced.Store(c.number)
	if s.lanes, err = loadLanes(s.db); err != nil {
		return nil, err
	}
	if c.newest, err = loadSettings(s.db); err != nil {
		return nil, err
	}
	s.settings.Store(c.newest)
	counts, err := loadCounts(s.db)
	if err != nil {
		return nil, err
	}
	c.counters = newCounters(counts)
	s.counts.publish(counts)
	clean, err := s.markOpen()
	c.suspects = suspects{on: !clean && !fresh, until: openedAt(s.config)}
	return c, err
}

// openPebble opens the database. A new one is opened twice, because the log that is
// created while Pebble raises its format still has the old format. fresh reports that
// there was no database.
func (s *Store) openPebble() (fresh bool, err error) {
	before, err := pebble.Peek(s.dir, s.config.FS)
	if err != nil && strings.Contains(err.Error(), "unknown format major version") {
		return false, fmt.Errorf("%w; this version supports versions up to %d, and has changed nothing: %w", err, pebble.FormatNewest, codec.ErrOtherFormat)
	}
	if err != nil {
		return false, err
	}
	if err := s.checkFiles(before); err != nil {
		return false, err
	}
	// Pebble counts two memtables as a part of its cache, so without room for them, no
	// block of a table stays in memory.
	cache := pebble.NewCache(32<<20 + 2*int64(s.config.MemTableSize))
	defer cache.Unref()
	options := s.options(cache)
	if s.db, err = s.openOnce(options); err != nil {
		return false, err
	}
	if before.Exists {
		return false, nil
	}
	if err := s.db.Close(); err != nil {
		return false, err
	}
	s.db, err = s.openOnce(options)
	return true, err
}

// openOnce opens the database in a separate goroutine, because the logger ends
// the goroutine in which Pebble meets a fatal error.
func (s *Store) openOnce(options *pebble.Options) (*pebble.DB, error) {
	var db *pebble.DB
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		db, err = pebble.Open(s.dir, options)
	}()
	select {
	case <-done:
	case <-s.failed:
		select {
		case <-done:
		case <-s.stuck: // if a table cannot be written, Pebble tries again forever
			return nil, s.broken()
		}
	}
	switch {
	case err != nil || s.broken() == nil:
		return db, err
	case db == nil:
		s.markStuck()
		return nil, s.broken()
	}
	return nil, errors.Join(s.broken(), db.Close())
}

func (s *Store) options(cache *pebble.Cache) *pebble.Options {
	o := &pebble.Options{
		FS:                          disk{FS: s.config.FS, s: s},
		Lock:                        s.lock,
		Cache:                       cache,
		FormatMajorVersion:          pebbleFormat,
		MemTableSize:                s.config.MemTableSize,
		MemTableStopWritesThreshold: memTables,
		L0CompactionThreshold:       4,
		L0StopWritesThreshold:       24,
		LBaseMaxBytes:               64 << 20,
		MaxOpenFiles:                MaxOpenFiles,
		Logger:                      logger{s},
		EventListener:               s.listener(),
	}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10) // most look-ups of a create find nothing
		o.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.SnappyCompression }
	}
	return o
}

// markOpen removes the mark that the directory was closed in order, and reports whether
// it was there.
func (s *Store) markOpen() (clean bool, err error) {
	if value, err := getValue(s.db, cleanKey); value == nil || err != nil {
		return false, err
	}
	return true, s.db.Delete(cleanKey, pebble.Sync)
}

// reapAll takes back the leases of the previous process. If a failure of the medium
// ended it, no task is to blame, because a full disk must not kill a task by ten
// starts.
func (s *Store) reapAll() error {
	blameless, err := s.watermark.failed()
	if err != nil {
		return err
	}
	left, err := s.reap(context.Background(), openedAt(s.config), math.MaxInt64, kernel.Reap{Gone: true, Blameless: blameless}, math.MaxInt)
	if err == nil && blameless {
		err = errors.Join(s.watermark.setFailed(false), s.watermark.file.Sync())
	}
	if len(left) > 0 {
		s.config.Logger.Info("took back tasks that were running when the process stopped", "tasks", len(left))
	}
	if s.config.OnReap != nil {
		s.config.OnReap(left)
	}
	return err
}

func openedAt(c Config) task.Millis { return task.FloorMillis(c.Now()) }

// explain turns an error of opening dir into a sentence for the operator.
func explain(dir string, err error) error {
	switch {
	case errors.Is(err, codec.ErrOtherFormat), errors.Is(err, ErrInUse), errors.Is(err, marker.ErrForeign):
		return err
	case pebble.IsCorruptionError(err), errors.Is(err, errDamaged):
		return fmt.Errorf("%w: %s: %w; the server did not open it, because tasks may be missing: restore the directory from a backup, or from a healthy copy of the disk", errDirectory, dir, err)
	}
	return fmt.Errorf("open the data directory %s: %w", dir, err)
}
