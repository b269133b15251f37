package pebblestore

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/task"
)

// upgrade brings a directory of an older format up to date. Formats 2 to 4
// differ only in the marker: older versions have no schedules, or no kinds. For
// format 1 the indexes and the counts are rebuilt from the records, which have
// not changed. The marker is raised first, so that no older version opens a
// half-upgraded directory. formatKey is written last, in one batch with the
// counts. If the power fails before that, the next start begins again.
//
// newest is the number of the newest change. 0 means that nothing was ever
// written.
func (s *Store) upgrade(newest uint64) error {
	format, err := s.storedFormat()
	if err != nil || format == formatVersion {
		return err
	}
	marked, err := checkMarker(s.config.FS, s.dir)
	if err != nil {
		return err
	}
	if marked < formatVersion {
		s.config.Logger.Info("the server upgrades the data directory: older versions cannot open it any more", "from", marked, "to", formatVersion)
		if err := mark(s.config.FS, s.dir); err != nil {
			return err
		}
	}
	if newest == 0 || format >= firstIndexed {
		return s.db.Set(formatKey, []byte{formatVersion}, pebble.Sync)
	}
	return s.rebuild()
}

// loadCounts reads the counts. If an older version has written some of them,
// loadCounts first rebuilds everything that is derived from the records.
func (s *Store) loadCounts() (*counters, error) {
	b, err := loadCounters(s.db)
	if err != nil || !b.stale {
		return b, err
	}
	s.config.Logger.Info("the server counts all records again: an older version counted only the bytes of bodies")
	if err := s.rebuild(); err != nil {
		return nil, err
	}
	return loadCounters(s.db)
}

// storedFormat returns the format of the database, or 0 if none is stored.
func (s *Store) storedFormat() (int, error) {
	value, closer, err := s.db.Get(formatKey)
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer closer.Close()
	if len(value) != 1 || value[0] > formatVersion {
		return 0, fmt.Errorf("the stored format is %x: %w", value, errDamaged)
	}
	return int(value[0]), nil
}

// rebuildBytes bounds the batches of a rebuild.
const rebuildBytes = 1 << 20

// rebuild rebuilds everything that is derived from the records. Its first batch
// removes formatKey and its last one sets it. So the next start begins again if
// the process ends in between.
func (s *Store) rebuild() (err error) {
	b := s.db.NewBatch()
	defer func() { err = errors.Join(err, b.Close()) }()
	if err := b.Delete(formatKey, nil); err != nil {
		return err
	}
	for _, prefix := range []string{duePrefix, runPrefix, deadPrefix, donePrefix, idemPrefix, countPrefix} {
		if err := b.DeleteRange([]byte(prefix), prefixEnd([]byte(prefix)), nil); err != nil {
			return err
		}
	}
	counts := newCounters()
	err = eachRecord(s.db, func(t *task.Task) error {
		counts.move(nil, t)
		key, value := appendIndexEntry(nil, nil, t)
		if err := b.Set(key, value, nil); err != nil {
			return err
		}
		if d := digest(t); d != "" {
			if err := b.Set(appendIdemKey(nil, t.Namespace, d), []byte(t.Name), nil); err != nil {
				return err
			}
		}
		if b.Len() < rebuildBytes {
			return nil
		}
		err := s.db.Apply(b, pebble.NoSync)
		b.Reset()
		return err
	})
	if err != nil {
		return err
	}
	if err := errors.Join(counts.write(b), b.Set(formatKey, []byte{formatVersion}, nil)); err != nil {
		return err
	}
	return s.db.Apply(b, pebble.Sync)
}

// eachRecord calls use for every record of a database or of a snapshot of it.
func eachRecord(from pebble.Reader, use func(*task.Task) error) (err error) {
	space := []byte(taskPrefix)
	it, err := from.NewIter(&pebble.IterOptions{LowerBound: space, UpperBound: prefixEnd(space)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		key, err := parseName(it.Key()[len(space):])
		if err != nil {
			return err
		}
		t, err := codec.DecodeRecord(key, value)
		if err != nil {
			return err
		}
		if err := use(t); err != nil {
			return err
		}
	}
	return it.Error()
}
