package pebblestore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/pebblestore/marker"
	"github.com/foliot/foliot/internal/task"
)

// The reasons why a directory is refused, besides codec.ErrOtherFormat and
// marker.ErrForeign, for a directory with other files and no marker of ours.
var (
	// ErrInUse: another process, or another Store of this process, has it open.
	ErrInUse = task.Unavailable(errors.New("the data directory is in use"))
	// errDirectory: confirmed data is missing or changed.
	errDirectory = errors.New("the data directory is damaged")
)

const (
	markerFile = marker.File
	markerTemp = "FOLIOT.tmp"
	lockFile   = "LOCK" // Pebble's
)

const markerText = `This is a foliot data directory. Keep all of its files together and do not edit them.
format %d
`

// prepare locks dir and checks that this version is allowed to write to it. If dir
// is empty or does not exist, prepare makes it a data directory, but it does not
// change one that it refuses.
func prepare(fs vfs.FS, dir string) (*pebble.Lock, error) {
	if err := makeDir(fs, dir); err != nil {
		return nil, fmt.Errorf("create the data directory %s: %w", dir, err)
	}
	if _, err := check(fs, dir); err != nil {
		return nil, err
	}
	held, err := lock(fs, dir)
	if err != nil {
		return nil, err
	}
	marked, err := check(fs, dir) // again: another process may have been faster
	if err == nil && !marked {
		err = errors.Join(beginWatermark(fs, dir, 0), mark(fs, dir))
	}
	if err != nil {
		return nil, errors.Join(err, held.Close())
	}
	return held, nil
}

// makeDir creates dir and its parents, and syncs their parent directories, because
// a new directory is an entry in its parent that a power loss can undo.
func makeDir(fs vfs.FS, dir string) error {
	if _, err := fs.Stat(dir); err == nil {
		return nil
	}
	if parent := fs.PathDir(dir); parent != dir {
		if err := makeDir(fs, parent); err != nil {
			return err
		}
	}
	if err := fs.MkdirAll(dir, 0o700); err != nil { // bodies and headers are secrets
		return err
	}
	return syncDir(fs, fs.PathDir(dir))
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// check reports whether dir has our marker, but accepts an empty directory, which
// has none.
func check(fs vfs.FS, dir string) (marked bool, err error) {
	names, err := fs.List(dir)
	if err != nil {
		return false, fmt.Errorf("read the data directory %s: %w", dir, err)
	}
	if slices.Contains(names, markerFile) {
		return true, checkMarker(fs, dir)
	}
	for _, name := range names {
		switch name {
		case lockFile, markerTemp, watermarkFile, "lost+found":
		default:
			return false, fmt.Errorf("%w: %s holds %q and no file named %s; name an empty directory, or a new one", marker.ErrForeign, dir, name, markerFile)
		}
	}
	return false, nil
}

// checkMarker returns an error if dir has another format than codec.Format.
func checkMarker(fs vfs.FS, dir string) error {
	path := fs.PathJoin(dir, markerFile)
	text, err := readFile(fs, path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	_, lines, _ := strings.Cut(text, "\n")
	format, _, _ := strings.Cut(strings.TrimPrefix(lines, "format "), "\n")
	switch n, err := strconv.Atoi(format); {
	case err != nil:
		return fmt.Errorf("%w: %s does not name the format", errDirectory, path)
	case n != codec.Format:
		return codec.OtherFormat(dir, format)
	}
	return nil
}

func readFile(fs vfs.FS, path string) (string, error) {
	f, err := fs.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 4096))
	return string(text), err
}

// mark writes the marker, which after a power loss is there as a whole or not at
// all.
func mark(fs vfs.FS, dir string) error {
	temp := fs.PathJoin(dir, markerTemp)
	f, err := fs.Create(temp, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("mark the data directory: %w", err)
	}
	_, err = fmt.Fprintf(f, markerText, codec.Format)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = fs.Rename(temp, fs.PathJoin(dir, markerFile))
	}
	if err == nil {
		err = syncDir(fs, dir)
	}
	if err != nil {
		return fmt.Errorf("mark the data directory %s: %w", dir, err)
	}
	return nil
}

// lock locks dir against other processes, and against this one under any name:
// within a process, Pebble compares names only.
func lock(fs vfs.FS, dir string) (*pebble.Lock, error) {
	l, err := pebble.LockDirectory(realPath(fs, dir), fs)
	if err == nil {
		return l, nil
	}
	if path := (*os.PathError)(nil); errors.As(err, &path) {
		return nil, fmt.Errorf("lock the data directory %s: %w", dir, err)
	}
	if strings.Contains(err.Error(), "held by current process") {
		return nil, fmt.Errorf("%w: %s: this process has it open already: open it once and share the node, or close the first one", ErrInUse, dir)
	}
	return nil, fmt.Errorf("%w: %s: another process, such as a foliot serve, uses it (%w): stop that process, or name another directory", ErrInUse, dir, err)
}

// realPath returns the absolute name of dir without symbolic links, or dir if fs
// does not have that name.
func realPath(fs vfs.FS, dir string) string {
	path, err := filepath.EvalSymlinks(dir)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err == nil {
		_, err = fs.Stat(path)
	}
	if err != nil {
		return dir
	}
	return path
}
