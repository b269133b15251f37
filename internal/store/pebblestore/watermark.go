package pebblestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// watermark is a file that holds the number of the newest batch that was
// answered. Each batch also carries its own number into the database, under
// numberKey, so that Open can tell when the log has lost its end.
//
// Pebble cannot: its log tells a damaged record from one that was never
// finished only by looking for a later one in the next block of 32 KiB. A bit
// that flips in the last block, or a log that was cut off, costs every task
// behind it without an error.
//
// The file is written after the batch is synced, and is not synced itself. It
// survives the end of the process; after a power loss it may be behind, never
// ahead, and the check is then only as strict as what was kept of it.
type watermark struct {
	file vfs.File
	raw  [watermarkLen]byte
}

const (
	watermarkFile = "SYNCED"
	watermarkLen  = 8 + 4 // the number, its checksum
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openWatermark opens the file in dir, or makes it, and returns what it says; 0
// where it says nothing that can be relied on.
func openWatermark(fs vfs.FS, dir string) (*watermark, uint64, error) {
	path := fs.PathJoin(dir, watermarkFile)
	f, err := fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, 0, fmt.Errorf("open %s: %w", path, err)
	}
	w := &watermark{file: f}
	n, err := f.ReadAt(w.raw[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, errors.Join(fmt.Errorf("read %s: %w", path, err), f.Close())
	}
	number := w.raw[:8]
	if n < watermarkLen || binary.BigEndian.Uint32(w.raw[8:]) != crc32.Checksum(number, castagnoli) {
		return w, 0, nil
	}
	return w, binary.BigEndian.Uint64(number), nil
}

// set stores n.
func (w *watermark) set(n uint64) error {
	binary.BigEndian.PutUint64(w.raw[:8], n)
	binary.BigEndian.PutUint32(w.raw[8:], crc32.Checksum(w.raw[:8], castagnoli))
	_, err := w.file.WriteAt(w.raw[:], 0)
	return err
}

// checkEnd compares the newest batch in the database with the newest that was
// answered, and returns its number.
func (s *Store) checkEnd() (number uint64, err error) {
	value, closer, err := s.db.Get(numberKey)
	switch {
	case errors.Is(err, pebble.ErrNotFound):
	case err != nil:
		return 0, err
	default:
		defer closer.Close()
		if len(value) != 8 {
			return 0, fmt.Errorf("the number of the last change: %w", errDamaged)
		}
		number = binary.BigEndian.Uint64(value)
	}
	w, answered, err := openWatermark(s.config.FS, s.dir)
	if err != nil {
		return 0, err
	}
	s.watermark = w
	if answered > number {
		return 0, fmt.Errorf("the log ends at change %d, but change %d was answered: %w", number, answered, errDamaged)
	}
	return number, errors.Join(w.set(number), w.file.Sync())
}
