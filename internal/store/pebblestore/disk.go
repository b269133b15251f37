package pebblestore

import (
	"errors"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// disk is the file system that Pebble uses. It sees failures of log operations before
// Pebble does, calls OnFatal, and stops Pebble where it cannot continue. Otherwise
// Pebble would panic if it cannot switch to a new log, with a stack trace that names
// neither the disk nor the directory.
type disk struct {
	vfs.FS
	s *Store
}

// Unwrap returns the file system below.
func (d disk) Unwrap() vfs.FS { return d.FS }

// Create creates a file, and for a log it does not return an error while the store
// runs. The name of a manifest is synced at once, because Pebble syncs it together
// with the name of the marker that points to it. If a file system kept only that one,
// the directory would never open again.
func (d disk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.Create(name, category)
	if d.PathDir(name) == d.PathJoin(d.s.dir, checkpointDir) {
		return f, err // a file of a backup: its failures do not affect the store
	}
	if number, ok := fileNumber(d, name, manifestPrefix, ""); ok && err == nil {
		if err := syncDir(d.FS, d.PathDir(name)); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return &manifestFile{File: f, s: d.s, written: writtenFile{number: number}}, nil
	}
	return d.log(name, f, err)
}

// ReuseForWrite turns an old log into a new one, like Create.
func (d disk) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.ReuseForWrite(old, name, category)
	return d.log(name, f, err)
}

func (d disk) log(name string, f vfs.File, err error) (vfs.File, error) {
	number, isLog := fileNumber(d, name, "", logSuffix)
	if !isLog {
		return f, err
	}
	if err != nil {
		d.s.report("begin a log", err)
		d.s.halt()
		return nil, err
	}
	return &logFile{File: f, s: d.s, written: writtenFile{number: number}}, nil
}

// logFile is a file of the log.
type logFile struct {
	vfs.File
	s       *Store
	written writtenFile
}

func (f *logFile) Write(p []byte) (int, error) {
	n, err := f.written.write(f.File, p)
	f.s.report("write the log", err)
	return n, err
}

func (f *logFile) Sync() error {
	err := f.File.Sync()
	f.s.report("sync the log", err)
	return err
}

func (f *logFile) SyncData() error {
	err := f.File.SyncData()
	f.s.report("sync the log", err)
	return err
}

func (f *logFile) SyncTo(length int64) (fullSync bool, err error) {
	fullSync, err = f.File.SyncTo(length)
	f.s.report("sync the log", err)
	return fullSync, err
}

// Close closes the file, which Pebble has synced, and adds it to the watermark.
// After a failure Pebble would panic with the error that Close returns, even if
// that is an earlier one.
func (f *logFile) Close() error {
	err := f.File.Close()
	if err == nil && f.s.broken() == nil && f.written.length > emptyLog {
		err = f.s.watermark.addLog(&f.written)
	}
	f.s.report("close the log", err)
	f.s.halt()
	return err
}

// report stops the store if err is not nil.
func (s *Store) report(op string, err error) {
	if err != nil {
		s.fail(op, err)
	}
}

// halt does not return if the store has failed while it was running: the
// goroutine stays in Pebble until the process ends. While the store is being
// opened or closed halt always returns, because Pebble then passes the error
// on.
func (s *Store) halt() {
	if s.running.Load() && s.broken() != nil {
		s.markStuck()
		select {}
	}
}
