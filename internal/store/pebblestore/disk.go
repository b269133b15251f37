package pebblestore

import (
	"errors"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// disk is the file system as Pebble sees it. It learns first when an operation
// on the log fails, for two reasons: OnFatal is told before anything else can
// happen, and Pebble is kept from going on where it cannot. When Pebble cannot
// change to a new log it panics with a lock in the wrong state, and the
// runtime ends the process with a stack trace that names neither the disk
// nor the directory.
type disk struct {
	vfs.FS
	s *Store
}

// Unwrap returns the file system below.
func (d disk) Unwrap() vfs.FS { return d.FS }

// Create creates a file. For a log it does not return an error while the store runs.
//
// A manifest's name is synced at once. Pebble syncs it together with the name
// of the marker that points to it, and a file system that does not keep the
// order of names may keep the marker alone over a power loss: the directory
// then never opens again.
func (d disk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.Create(name, category)
	if d.PathDir(name) == d.PathJoin(d.s.dir, checkpointDir) {
		return f, err // of a backup: what befalls it does not concern the store
	}
	if number, ok := manifestNumber(d, name); ok && err == nil {
		if err := syncDir(d.FS, d.PathDir(name)); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return &manifestFile{File: f, s: d.s, written: manifest{number: number}}, nil
	}
	return d.log(name, f, err)
}

// ReuseForWrite makes an old log a new one, like Create.
func (d disk) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.ReuseForWrite(old, name, category)
	return d.log(name, f, err)
}

func (d disk) log(name string, f vfs.File, err error) (vfs.File, error) {
	if !strings.HasSuffix(name, ".log") {
		return f, err
	}
	if err != nil {
		d.s.report("begin a log", err)
		d.s.halt()
		return nil, err
	}
	return logFile{File: f, s: d.s}, nil
}

// logFile is a file of the log.
type logFile struct {
	vfs.File
	s *Store
}

func (f logFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.s.report("write the log", err)
	return n, err
}

func (f logFile) Sync() error {
	err := f.File.Sync()
	f.s.report("sync the log", err)
	return err
}

func (f logFile) SyncData() error {
	err := f.File.SyncData()
	f.s.report("sync the log", err)
	return err
}

func (f logFile) SyncTo(length int64) (fullSync bool, err error) {
	fullSync, err = f.File.SyncTo(length)
	f.s.report("sync the log", err)
	return fullSync, err
}

// Close closes the file. After a failure Pebble would panic with what it
// returns, also if that was an earlier error than its own.
func (f logFile) Close() error {
	err := f.File.Close()
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

// halt does not return if the store has failed in the middle of its work: the
// goroutine stays in Pebble until the process ends. While the store is opened
// or closed it always returns, as Pebble then hands the error on.
func (s *Store) halt() {
	if s.running.Load() && s.broken() != nil {
		s.wedge()
		select {}
	}
}
