package pebblestore

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/task"
)

// ErrBackupRunning means that another backup is under way: only one runs at a
// time.
var ErrBackupRunning = errors.New("another backup is under way")

// checkpointDir is the directory for the files of a backup, in the data directory, so
// that the files can be links instead of copies.
const checkpointDir = "backup.tmp"

// copyTries is how often a copy is made if it cannot be opened. Only the log and the
// manifest are copied, while tables are links, so a fault in one is a fault of the
// store.
const copyTries = 3

// Backup writes a copy of the store to w while all other work continues. The copy is a
// tar archive for Restore, with every change that was confirmed before the call.
// Changes that are not yet in tables are copied, about three times MemTableSize at
// most, and tables are kept from deletion until Backup returns.
//
// After an error the output is not a backup, and Restore refuses it. Errors:
// ErrBackupRunning, task.ErrClosed, and those of ctx and w.
func (s *Store) Backup(ctx context.Context, w io.Writer) (err error) {
	if !s.backup.TryLock() {
		return ErrBackupRunning
	}
	defer s.backup.Unlock()
	fs, dir := s.config.FS, s.config.FS.PathJoin(s.dir, checkpointDir)
	defer func() { err = errors.Join(err, fs.RemoveAll(dir)) }()
	db, err := s.copy(ctx, fs, dir)
	if err != nil {
		return err
	}
	now := s.config.Now()
	m := &Manifest{Format: codec.Format, CreatedAt: now.UTC()}
	archive := tar.NewWriter(w)
	if err = m.addFiles(ctx, archive, fs, dir); err == nil {
		m.Contents, err = inspectAll(ctx, db)
	}
	err = errors.Join(err, inGoroutine(db.Close)) // Pebble may end the goroutine
	if err == nil {
		err = m.close(archive, now)
	}
	if err != nil {
		return fmt.Errorf("back up %s: %w", s.dir, err)
	}
	return nil
}

// copy makes a copy of the directory in dir, and opens it. If the copy does not
// open, or lacks a change that was confirmed before, it is made again.
func (s *Store) copy(ctx context.Context, fs vfs.FS, dir string) (*pebble.DB, error) {
	least := s.progress.newest()
	for try := 1; ; try++ {
		if err := inGoroutine(func() error { return s.checkpoint(fs, dir) }); err != nil {
			return nil, err
		}
		db, err := openCopy(fs, dir, least)
		switch {
		case err == nil:
			return db, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case try == copyTries:
			return nil, fmt.Errorf("back up %s: could not read %d copies in a row; the store still works; check the disk: %w", s.dir, copyTries, err)
		}
		s.config.Logger.Warn("the copy for a backup could not be read: the server makes another copy", "error", err)
	}
}

// openCopy opens the copy in dir, which must contain change number least.
func openCopy(fs vfs.FS, dir string, least uint64) (db *pebble.DB, err error) {
	err = inGoroutine(func() (err error) {
		if db, err = openReadOnly(fs, dir, nil); err != nil {
			return fmt.Errorf("open the copy: %w", err)
		}
		number, _, err := lastChange(db)
		if err == nil && number < least {
			err = fmt.Errorf("the copy ends at change %d, and lacks change %d: %w", number, least, errDamaged)
		}
		if err == nil {
			err = checkTables(fs, dir, db)
		}
		if err != nil {
			return errors.Join(err, db.Close())
		}
		return nil
	})
	return db, err
}

// checkTables checks that db, the opened copy in dir, knows all tables there. If the
// end of its manifest is unreadable, Pebble takes the rest for the whole manifest, so
// the later tables are missing, although the newest change is there, in the log.
func checkTables(fs vfs.FS, dir string, db *pebble.DB) error {
	names, err := fs.List(dir)
	if err != nil {
		return err
	}
	levels, err := db.SSTables()
	if err != nil {
		return err
	}
	known := map[uint64]bool{}
	for _, tables := range levels {
		for _, t := range tables {
			known[uint64(t.BackingSSTNum)] = true
		}
	}
	for _, name := range names {
		digits, ok := strings.CutSuffix(name, ".sst")
		if n, err := strconv.ParseUint(digits, 10, 64); ok && (err != nil || !known[n]) {
			return fmt.Errorf("the copy's manifest does not name %s: %w", name, errDamaged)
		}
	}
	return nil
}

// checkpoint makes a copy of the directory in dir. If it fails, the store works
// on: a disk without room for the copy may still have room for tasks.
func (s *Store) checkpoint(fs vfs.FS, dir string) error {
	s.dbMu.RLock()
	defer s.dbMu.RUnlock()
	switch {
	case s.broken() != nil:
		return s.stopped()
	case s.closed.Load():
		return task.ErrClosed
	}
	if err := fs.RemoveAll(dir); err != nil {
		return fmt.Errorf("back up %s: %w", s.dir, err)
	}
	if err := s.db.Checkpoint(dir, pebble.WithFlushedWAL()); err != nil {
		return fmt.Errorf("back up %s: %w", s.dir, err)
	}
	return mark(fs, dir)
}

// inspectAll reads a copy of a directory completely.
func inspectAll(ctx context.Context, db *pebble.DB) (c Contents, err error) {
	err = inGoroutine(func() (err error) {
		c, _, err = inspect(ctx, db, nil)
		return err
	})
	return c, err
}

func (m *Manifest) addFiles(ctx context.Context, archive *tar.Writer, fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		if name == lockFile {
			continue
		}
		if err := m.addFile(ctx, archive, fs, dir, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (m *Manifest) addFile(ctx context.Context, archive *tar.Writer, fs vfs.FS, dir, name string) (err error) {
	f, err := fs.Open(fs.PathJoin(dir, name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(header(name, info.Size(), m.CreatedAt)); err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(archive, sum), io.LimitReader(while{ctx, f}, info.Size()))
	if err == nil && n != info.Size() {
		err = io.ErrUnexpectedEOF
	}
	m.Files = append(m.Files, backupFile{Name: name, Size: n, SHA256: hex.EncodeToString(sum.Sum(nil))})
	return err
}

func (m *Manifest) close(archive *tar.Writer, now time.Time) error {
	data, err := m.encode()
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(header(backupManifest, int64(len(data)), now)); err != nil {
		return err
	}
	if _, err := archive.Write(data); err != nil {
		return err
	}
	return archive.Close()
}

func header(name string, size int64, at time.Time) *tar.Header {
	return &tar.Header{Name: name, Size: size, Mode: 0o600, ModTime: at.Truncate(time.Second), Format: tar.FormatPAX}
}

// while reads from r until ctx ends.
type while struct {
	ctx context.Context
	r   io.Reader
}

func (w while) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.r.Read(p)
}
