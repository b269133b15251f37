package pebblestore

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrNotEmpty means that the directory is not empty: a backup is restored into
// a directory of its own.
var ErrNotEmpty = errors.New("the directory is not empty")

// restoreDir is the directory for files that a restore has not verified yet.
const restoreDir = "restore.tmp"

// Restore creates a data directory in dir from the backup read from r. dir must
// be empty or not exist. Everything is verified before it is moved to its
// place: the checksum of each file, then the number of records, the counts and
// the checksum of the whole database. After an error dir is unchanged.
//
// Errors: ErrNotEmpty, ErrInUse, errBadBackup, codec.ErrOtherFormat, and those of
// ctx, of r and of the file system.
func Restore(ctx context.Context, r io.Reader, dir string) (Manifest, error) {
	return restoreTo(ctx, vfs.Default, r, dir)
}

func restoreTo(ctx context.Context, fs vfs.FS, r io.Reader, dir string) (m Manifest, err error) {
	_, missing := fs.Stat(dir)
	if err := makeDir(fs, dir); err != nil {
		return Manifest{}, fmt.Errorf("create the data directory %s: %w", dir, err)
	}
	if err := checkEmpty(fs, dir); err != nil {
		return Manifest{}, err
	}
	held, err := lock(fs, dir)
	if err != nil {
		return Manifest{}, err
	}
	t := &restore{fs: fs, dir: dir, temp: fs.PathJoin(dir, restoreDir)}
	err = checkEmpty(fs, dir) // again: another process may have been faster
	if err == nil {
		err = t.run(ctx, r)
	}
	err = errors.Join(err, fs.RemoveAll(t.temp))
	if err != nil {
		for _, name := range slices.Backward(t.moved) { // the marker first
			_ = fs.Remove(fs.PathJoin(dir, name))
		}
		_ = fs.Remove(fs.PathJoin(dir, lockFile)) // while it is held
	}
	err = errors.Join(err, held.Close())
	if err != nil {
		if missing != nil {
			_ = fs.Remove(dir) // it was created here; Remove fails if it is no longer empty
		}
		return Manifest{}, fmt.Errorf("restore a backup to %s: %w", dir, err)
	}
	return *t.manifest, nil
}

// checkEmpty refuses a directory that contains other files.
func checkEmpty(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if err != nil {
		return fmt.Errorf("read the directory %s: %w", dir, err)
	}
	for _, name := range names {
		switch name {
		case lockFile, restoreDir, "lost+found":
		default:
			return fmt.Errorf("%w: %s holds %q; name an empty directory, or a new one", ErrNotEmpty, dir, name)
		}
	}
	return nil
}

// restore is one restore under way.
type restore struct {
	fs        vfs.FS
	dir, temp string
	files     []backupFile // the files written so far
	manifest  *Manifest    // once it was read
	moved     []string     // into dir
}

func (r *restore) run(ctx context.Context, archive io.Reader) error {
	if err := r.fs.RemoveAll(r.temp); err != nil {
		return err
	}
	if err := r.fs.MkdirAll(r.temp, 0o700); err != nil {
		return err
	}
	if err := r.extract(while{ctx, archive}); err != nil {
		return err
	}
	if err := r.verify(ctx); err != nil {
		return err
	}
	return r.move()
}

func (r *restore) extract(from io.Reader) error {
	archive := tar.NewReader(from)
	for {
		h, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF) && r.manifest != nil:
			return nil
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return fmt.Errorf("%w: it ends before its manifest, or is not a backup of Foliot", errBadBackup)
		case errors.Is(err, tar.ErrHeader):
			return fmt.Errorf("%w: %w", errBadBackup, err)
		case err != nil:
			return err
		case r.manifest != nil:
			return fmt.Errorf("%w: %q follows its manifest", errBadBackup, h.Name)
		case h.Typeflag != tar.TypeReg:
			return fmt.Errorf("%w: %q is not a regular file", errBadBackup, h.Name)
		}
		if h.Name == backupManifest {
			r.manifest, err = readManifest(archive, h.Size)
		} else {
			err = r.extractFile(archive, h)
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("%w: it ends in the middle of %s", errBadBackup, h.Name)
		}
		if err != nil {
			return err
		}
	}
}

func readManifest(r io.Reader, size int64) (*Manifest, error) {
	if size > maxManifest {
		return nil, fmt.Errorf("%w: its manifest has %d bytes", errBadBackup, size)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return parseManifest(data)
}

func (r *restore) extractFile(from io.Reader, h *tar.Header) (err error) {
	if err := checkName(h.Name); err != nil {
		return err
	}
	if slices.ContainsFunc(r.files, func(f backupFile) bool { return f.Name == h.Name }) {
		return fmt.Errorf("%w: it holds %q twice", errBadBackup, h.Name)
	}
	f, err := r.fs.Create(r.fs.PathJoin(r.temp, h.Name), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := sha256.New()
	n, err := io.Copy(f, io.TeeReader(from, sum))
	if err != nil {
		return err
	}
	r.files = append(r.files, backupFile{Name: h.Name, Size: n, SHA256: hex.EncodeToString(sum.Sum(nil))})
	return f.Sync()
}

func (r *restore) verify(ctx context.Context) error {
	if !slices.Equal(r.files, r.manifest.Files) {
		return fmt.Errorf("%w: its files do not match its manifest", errBadBackup)
	}
	if err := checkMarker(r.fs, r.temp); err != nil {
		return err
	}
	db, err := openCopy(r.fs, r.temp, r.manifest.Change)
	if err != nil {
		return fmt.Errorf("%w: %w", errBadBackup, err)
	}
	found, err := inspectAll(ctx, db)
	err = errors.Join(err, inGoroutine(db.Close)) // Pebble may end the goroutine
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("%w: %w", errBadBackup, err)
	case !reflect.DeepEqual(found, r.manifest.Contents):
		return fmt.Errorf("%w: it holds %d tasks and %d entries with checksum %s, its manifest says %d, %d and %s", errBadBackup,
			found.Tasks, found.Entries, found.Checksum, r.manifest.Tasks, r.manifest.Entries, r.manifest.Checksum)
	}
	return nil
}

// move moves the files to their places, the marker last, because without it dir
// is not a data directory.
func (r *restore) move() error {
	if err := beginWatermark(r.fs, r.temp, r.manifest.Change); err != nil {
		return err
	}
	if err := r.moveFile(watermarkFile); err != nil {
		return err
	}
	for _, f := range r.files {
		if f.Name == markerFile {
			continue
		}
		if err := r.moveFile(f.Name); err != nil {
			return err
		}
	}
	if err := syncDir(r.fs, r.dir); err != nil {
		return err
	}
	if err := r.moveFile(markerFile); err != nil {
		return err
	}
	return syncDir(r.fs, r.dir)
}

func (r *restore) moveFile(name string) error {
	r.moved = append(r.moved, name)
	return r.fs.Rename(r.fs.PathJoin(r.temp, name), r.fs.PathJoin(r.dir, name))
}
