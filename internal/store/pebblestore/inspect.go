package pebblestore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"log/slog"
	"maps"
	"os"
	"runtime"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/store/pebblestore/marker"
	"github.com/foliot/foliot/internal/task"
)

// openReadOnly opens the database in dir, to which no other process must write. It
// reads the log into memory, and changes nothing in dir, except that it creates
// LOCK if held is nil.
func openReadOnly(fs vfs.FS, dir string, held *pebble.Lock) (*pebble.DB, error) {
	return pebble.Open(dir, &pebble.Options{
		FS: fs, Lock: held, ReadOnly: true, ErrorIfNotExists: true,
		FormatMajorVersion: pebbleFormat, MaxOpenFiles: MaxOpenFiles / 4,
		Logger: discard{},
	})
}

// discard is the logger of databases that are only read, because their errors are
// returned.
type discard struct{}

func (discard) Infof(string, ...any)  {}
func (discard) Errorf(string, ...any) {}
func (discard) Fatalf(string, ...any) { runtime.Goexit() } // see logger

// inGoroutine runs use in a separate goroutine, because Pebble may end that
// goroutine.
func inGoroutine(use func() error) error {
	done := make(chan error, 1)
	go func() {
		err := fmt.Errorf("a file is missing, or cannot be read: %w", errDamaged)
		defer func() { done <- err }()
		err = use()
	}()
	return <-done
}

// inspect reads all keys and values of db, and counts its records. use can be nil.
func inspect(ctx context.Context, db *pebble.DB, use func(key, value []byte) error) (c Contents, counts kernel.Tally, err error) {
	sum, counts := sha256.New(), kernel.Tally{}
	_, err = each(db, nil, nil, func(key, value []byte) (bool, error) {
		if c.Entries++; c.Entries%1024 == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		addPart(sum, key)
		addPart(sum, value)
		switch {
		case bytes.Equal(key, numberKey) && len(value) >= 8:
			c.Change = binary.BigEndian.Uint64(value)
		case bytes.HasPrefix(key, []byte(taskPrefix)):
			t, err := storedTask(key, value)
			if err != nil {
				return false, err
			}
			if counts.Move(nil, t); t.IsSchedule() {
				c.Schedules++
			} else {
				c.Tasks++
			}
		}
		if use == nil {
			return true, nil
		}
		return true, use(key, value)
	})
	c.Checksum, c.Queues = hex.EncodeToString(sum.Sum(nil)), queueCounts(counts)
	return c, counts, err
}

// addPart adds b after its length, so ("ab", "c") and ("a", "bc") differ.
func addPart(h hash.Hash, b []byte) {
	var n [binary.MaxVarintLen64]byte
	h.Write(n[:binary.PutUvarint(n[:], uint64(len(b)))])
	h.Write(b)
}

// Report is the result of Verify.
type Report struct {
	Contents
	Clean    bool     // it was closed in order
	Problems []string // sentences, at most maxProblems; Scrub repairs these problems while the server runs
	More     int      // number of further problems
}

const maxProblems = 100

func (r *Report) add(format string, values ...any) {
	if len(r.Problems) == maxProblems {
		r.More++
		return
	}
	r.Problems = append(r.Problems, fmt.Sprintf(format, values...))
}

// Verify reads all of a data directory that no server has open. It compares
// records, entries and counts with each other, and changes nothing. It takes as
// long as a read of the directory, and as much memory as there were changes
// outside of tables when the server stopped.
//
// Errors: those of Open. After an error there is no report.
func Verify(ctx context.Context, dir string) (Report, error) {
	return verify(ctx, vfs.Default, dir)
}

func verify(ctx context.Context, fs vfs.FS, dir string) (r Report, err error) {
	if _, err := fs.Stat(dir); err != nil {
		return Report{}, fmt.Errorf("read the data directory: %w", err)
	}
	marked, err := check(fs, dir)
	if err != nil {
		return Report{}, err
	}
	if !marked {
		return Report{}, fmt.Errorf("%w: %s is empty", marker.ErrForeign, dir)
	}
	held, err := lock(fs, dir)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	if err := inGoroutine(func() error { return r.read(ctx, fs, dir, held) }); err != nil {
		return Report{}, explain(dir, err)
	}
	return r, nil
}

func (r *Report) read(ctx context.Context, fs vfs.FS, dir string, held *pebble.Lock) (err error) {
	s := &Store{dir: dir, config: Config{FS: fs, Logger: slog.New(slog.DiscardHandler)}}
	f, err := fs.Open(fs.PathJoin(dir, watermarkFile))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return errNoWatermark
	case err != nil:
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	s.watermark = &watermark{file: f}
	before, err := pebble.Peek(dir, fs)
	if err != nil {
		return err
	}
	if err := s.checkFiles(before); err != nil || !before.Exists {
		return err
	}
	if s.db, err = openReadOnly(fs, dir, held); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.db.Close()) }()
	if _, _, err := s.readEnd(); err != nil {
		return err
	}
	return r.compare(ctx, s.db)
}

func (r *Report) compare(ctx context.Context, db *pebble.DB) (err error) {
	contents, counts, err := inspect(ctx, db, func(key, value []byte) error { return r.examine(db, key, value) })
	if err != nil {
		return err
	}
	r.Contents = contents
	stored, err := loadCounts(db)
	if err != nil {
		return err
	}
	for _, key := range slices.SortedFunc(maps.Keys(merged(stored, counts)), task.QueueKey.Compare) {
		if stored[key] != counts[key] {
			r.add("the stored counts are %+v, but there are %+v", queueCount(key, stored[key]), queueCount(key, counts[key]))
		}
	}
	_, err = loadSettings(db)
	return err
}

func (r *Report) examine(db *pebble.DB, key, value []byte) error {
	switch prefix := prefixOf(key); {
	case prefix == metaPrefix:
		r.Clean = r.Clean || bytes.Equal(key, cleanKey)
	case prefix == auditPrefix:
		_, err := parseAuditEntry(key, value)
		return err
	case slices.Contains(scrubbed, prefix):
		f, err := faultOf(db, key, value)
		if err != nil {
			return err
		}
		if f.found != "" {
			r.add("task %q in namespace %q: %s", f.owner.Name, f.owner.Namespace, f.found)
		}
	}
	return nil
}
