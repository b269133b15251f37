package pebblestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// watermark is a file of notes. Two of them let Open notice what Pebble does not:
// that the end of its log, or of its manifest, is gone.
//
// Pebble reads both until something does not look right, and takes that for a
// write which the end of the process cut short. It looks for a later record to
// tell a flipped bit from that, in the log only in the next block of 32 KiB, in
// the manifest not at all. A bit that flips in the log's last block costs what
// is behind it, one in the manifest most of the tasks, without an error.
//
// The first note is the number of the newest batch that was answered; each
// batch also carries its number into the database, under numberKey. The second
// is the length and the checksum of the manifest as it was last synced.
//
// The notes are written when what they speak of is synced, and are not synced
// themselves. So they survive the end of the process; after a power loss they
// may be behind, never ahead, and the check is as strict as what is left of them.
//
// The third note says that the medium failed, so Open does not blame the attempts that were
// under way. The notes lie in the file's first block, so a full disk takes them.
type watermark struct{ file vfs.File }

const (
	watermarkFile   = "SYNCED"
	numberNote      = 0  // at this offset: the number, 8 bytes, and the note's checksum
	manifestNote    = 16 // at this offset: file number, length, 8 bytes each, checksum, 4 bytes, and the note's
	failureNote     = 40 // at this offset: 1 if the medium has failed, 1 byte, and the note's checksum
	checksumLen     = 4
	numberNoteLen   = 8 + checksumLen
	manifestNoteLen = 8 + 8 + 4 + checksumLen
	failureNoteLen  = 1 + checksumLen
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openWatermark opens the file in dir, or makes it.
func openWatermark(fs vfs.FS, dir string) (*watermark, error) {
	path := fs.PathJoin(dir, watermarkFile)
	f, err := fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return &watermark{file: f}, nil
}

// readWatermark opens the file to read it. Where there is none, neither are there notes.
func readWatermark(fs vfs.FS, dir string) (*watermark, error) {
	f, err := fs.Open(fs.PathJoin(dir, watermarkFile))
	if errors.Is(err, os.ErrNotExist) {
		return &watermark{}, nil
	}
	return &watermark{file: f}, err
}

func (w *watermark) close() error {
	if w.file == nil {
		return nil
	}
	return w.file.Close()
}

// write stores a note and its checksum.
func (w *watermark) write(offset int64, note []byte) error {
	note = binary.BigEndian.AppendUint32(note, crc32.Checksum(note, castagnoli))
	_, err := w.file.WriteAt(note, offset)
	return err
}

// read returns a note without its checksum, or nil where there is none that can
// be relied on.
func (w *watermark) read(offset int64, length int) ([]byte, error) {
	if w.file == nil {
		return nil, nil
	}
	note := make([]byte, length)
	if n, err := w.file.ReadAt(note, offset); n < length {
		if err == nil || errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, fmt.Errorf("read %s: %w", watermarkFile, err)
	}
	note, sum := note[:length-checksumLen], note[length-checksumLen:]
	if binary.BigEndian.Uint32(sum) != crc32.Checksum(note, castagnoli) {
		return nil, nil
	}
	return note, nil
}

// set notes that batch n is synced.
func (w *watermark) set(n uint64) error {
	return w.write(numberNote, binary.BigEndian.AppendUint64(make([]byte, 0, numberNoteLen), n))
}

// setFailed notes whether the medium has failed.
func (w *watermark) setFailed(failed bool) error {
	note := make([]byte, 1, failureNoteLen)
	if failed {
		note[0] = 1
	}
	return w.write(failureNote, note)
}

// failed reports whether the medium failed, and no Open has succeeded since.
func (w *watermark) failed() (bool, error) {
	note, err := w.read(failureNote, failureNoteLen)
	return note != nil && note[0] == 1, err
}

// checkEnd is readEnd that notes what it has found.
func (s *Store) checkEnd() (number, entry uint64, err error) {
	if number, entry, err = s.readEnd(); err != nil {
		return 0, 0, err
	}
	return number, entry, errors.Join(s.watermark.set(number), s.watermark.file.Sync())
}

// readEnd compares the newest batch in the database with the newest that was
// answered, and returns its number and that of the newest audit entry.
func (s *Store) readEnd() (number, entry uint64, err error) {
	if number, entry, err = lastChange(s.db); err != nil {
		return 0, 0, err
	}
	note, err := s.watermark.read(numberNote, numberNoteLen)
	if err != nil {
		return 0, 0, err
	}
	if note != nil && binary.BigEndian.Uint64(note) > number {
		return 0, 0, fmt.Errorf("the log ends at change %d, but change %d was answered: %w", number, binary.BigEndian.Uint64(note), errDamaged)
	}
	return number, entry, nil
}

// lastChange returns the numbers of the newest batch and audit entry in db.
func lastChange(db *pebble.DB) (number, entry uint64, err error) {
	value, closer, err := db.Get(numberKey)
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	defer closer.Close()
	if len(value) != 8 && len(value) != 16 { // format 1 had no audit log
		return 0, 0, fmt.Errorf("the number of the last change: %w", errDamaged)
	}
	if len(value) == 16 {
		entry = binary.BigEndian.Uint64(value[8:])
	}
	return binary.BigEndian.Uint64(value), entry, nil
}

// manifest says what of a manifest is synced.
type manifest struct {
	number   uint64 // of the file
	length   uint64
	checksum uint32
}

func (m manifest) note() []byte {
	note := make([]byte, 0, manifestNoteLen)
	note = binary.BigEndian.AppendUint64(note, m.number)
	note = binary.BigEndian.AppendUint64(note, m.length)
	return binary.BigEndian.AppendUint32(note, m.checksum)
}

const manifestPrefix = "MANIFEST-"

// manifestNumber returns the number in a manifest's name.
func manifestNumber(fs vfs.FS, path string) (uint64, bool) {
	digits, ok := strings.CutPrefix(fs.PathBase(path), manifestPrefix)
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, ok && err == nil
}

// checkManifest compares the manifest that Pebble is going to read with the note.
func (s *Store) checkManifest(path string) error {
	raw, err := s.watermark.read(manifestNote, manifestNoteLen)
	if err != nil || raw == nil {
		return err
	}
	number, ok := manifestNumber(s.config.FS, path)
	if !ok || binary.BigEndian.Uint64(raw) != number {
		return nil // the note is of another one, which was not yet, or no longer, in force
	}
	f, err := s.config.FS.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	length := binary.BigEndian.Uint64(raw[8:])
	sum := crc32.New(castagnoli)
	n, err := io.Copy(sum, io.LimitReader(f, int64(length)))
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if uint64(n) != length || sum.Sum32() != binary.BigEndian.Uint32(raw[16:]) {
		return fmt.Errorf("%s is not as it was written: %w", path, errDamaged)
	}
	return nil
}

// manifestFile is a manifest that is being written.
type manifestFile struct {
	vfs.File
	s       *Store
	written manifest
}

func (f *manifestFile) Write(p []byte) (int, error) {
	// Before the write, which may use p as it likes. A write that fails ends the manifest.
	f.written.checksum = crc32.Update(f.written.checksum, castagnoli, p)
	n, err := f.File.Write(p)
	f.written.length += uint64(n)
	return n, err
}

func (f *manifestFile) Sync() error {
	if err := f.File.Sync(); err != nil {
		return err
	}
	return f.s.watermark.write(manifestNote, f.written.note())
}
