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
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/task"
)

// ErrBackupRunning means that another backup is under way: only one runs at a
// time.
var ErrBackupRunning = errors.New("another backup is under way")

// checkpointDir is the directory for the files of a backup. It is in the data
// directory, so that the files can be links instead of copies.
const checkpointDir = "backup.tmp"

// Backup writes a copy of the store to w while all other work continues. The
// copy is a tar archive for Restore. It contains every change that was
// confirmed before the call. Changes that are not yet in tables are copied,
// about three times MemTableSize at most. Tables are kept from deletion until
// Backup returns.
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
	least := s.progress.newest()
	if err := inGoroutine(func() error { return s.checkpoint(fs, dir) }); err != nil {
		return err
	}
	now := s.config.Now()
	m := &Manifest{Format: codec.Format, CreatedAt: now.UTC()}
	archive := tar.NewWriter(w)
	if err = m.addFiles(ctx, archive, fs, dir); err == nil {
		err = inGoroutine(func() error { return m.inspect(ctx, fs, dir, least) })
	}
	if err == nil {
		err = m.close(archive, now)
	}
	if err != nil {
		return fmt.Errorf("back up %s: %w", s.dir, err)
	}
	return nil
}

// inspect reads the copy in dir completely. It must contain change number least.
func (m *Manifest) inspect(ctx context.Context, fs vfs.FS, dir string, least uint64) (err error) {
	db, err := openReadOnly(fs, dir, nil)
	if err != nil {
		return fmt.Errorf("open the copy: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if m.Contents, err = inspect(ctx, db, nil); err == nil && m.Change < least {
		err = fmt.Errorf("the copy ends at change %d, and lacks change %d: %w", m.Change, least, errDamaged)
	}
	return err
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
	return nil
}

// addFiles writes the files in dir to the archive, and adds them to m.
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
	m.Files = append(m.Files, BackupFile{Name: name, Size: n, SHA256: hex.EncodeToString(sum.Sum(nil))})
	return err
}

// close writes the manifest and ends the archive.
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
