package pebblestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// watermark is a file with four notes. Three of them let Open notice an error that
// Pebble does not notice: the end of its log or of its manifest is missing, or a whole
// log (live_logs.go). Pebble reads both files until a record looks wrong, and takes
// that for a write that the end of the process interrupted. So a flipped bit in the
// last block of the log loses everything after it, and one in the manifest most of the
// tasks, without an error.
//
// The first note is the number of the newest batch that was confirmed, which each batch
// also writes under numberKey. The second note is the length and the checksum of the
// manifest when it was last synced. The file exists before the directory has a marker,
// so a missing file is noticed too. The notes are written after the sync of their
// subject, and these two are not synced. After a power loss they may be behind, but
// never ahead, so the check is less strict.
//
// The last note records that the medium failed, so that Open does not count the
// attempts that were under way. All notes are in the first block of the file, so most
// file systems can write them even if the disk is full.
type watermark struct{ file vfs.File }

const (
	watermarkFile   = "SYNCED"
	numberNote      = 0  // at this offset: the number, 8 bytes, and the note's checksum
	manifestNote    = 16 // at this offset: file number, length, 8 bytes each, checksum, 4 bytes, and the note's
	failureNote     = 40 // at this offset: 1 if the medium has failed, 1 byte, and the note's checksum
	logsNote        = 64 // at this offset: maxClosedLogs of the same values as in manifestNote, and the note's checksum
	checksumLen     = 4
	numberNoteLen   = 8 + checksumLen
	manifestNoteLen = writtenFileLen + checksumLen
	failureNoteLen  = 1 + checksumLen
)

var errNoWatermark = fmt.Errorf("the file %s is missing or not as it was written, so the server cannot tell whether the log is whole: %w", watermarkFile, errDamaged)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func openWatermark(fs vfs.FS, dir string) (*watermark, error) {
	path := fs.PathJoin(dir, watermarkFile)
	f, err := fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return &watermark{file: f}, nil
}

func (w *watermark) write(offset int64, note []byte) error {
	note = binary.BigEndian.AppendUint32(note, crc32.Checksum(note, castagnoli))
	_, err := w.file.WriteAt(note, offset)
	return err
}

// read returns a note without its checksum, or nil if there is no valid note.
func (w *watermark) read(offset int64, length int) ([]byte, error) {
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

func (w *watermark) set(n uint64) error {
	return w.write(numberNote, binary.BigEndian.AppendUint64(make([]byte, 0, numberNoteLen), n))
}

func (w *watermark) setFailed(failed bool) error {
	note := make([]byte, 1, failureNoteLen)
	if failed {
		note[0] = 1
	}
	return w.write(failureNote, note)
}

// failed reports whether the medium failed and no Open has succeeded since.
func (w *watermark) failed() (bool, error) {
	note, err := w.read(failureNote, failureNoteLen)
	return note != nil && note[0] == 1, err
}

// readEnd compares the newest batch in the database with the newest confirmed one, and
// returns the numbers of that batch and of the newest audit entry.
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
	value, err := getValue(db, numberKey)
	switch {
	case value == nil:
		return 0, 0, err
	case len(value) != 16:
		return 0, 0, fmt.Errorf("the number of the last change: %w", errDamaged)
	}
	return binary.BigEndian.Uint64(value), binary.BigEndian.Uint64(value[8:]), nil
}

// A log and a manifest have a number in their names.
const (
	manifestPrefix = "MANIFEST-"
	logSuffix      = ".log"
)

// fileNumber returns the number in the name of a file with that prefix and that
// suffix.
func fileNumber(fs vfs.FS, path, prefix, suffix string) (uint64, bool) {
	digits, isPrefix := strings.CutPrefix(fs.PathBase(path), prefix)
	digits, isSuffix := strings.CutSuffix(digits, suffix)
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, isPrefix && isSuffix && err == nil
}

// beginWatermark writes the first note of a store at change n, and syncs the file.
func beginWatermark(fs vfs.FS, dir string, n uint64) error {
	w, err := openWatermark(fs, dir)
	if err != nil {
		return err
	}
	return errors.Join(w.set(n), w.file.Sync(), w.file.Close(), syncDir(fs, dir))
}

// checkFiles checks the files of the database that Pebble is going to read, and accepts
// none if the creation of the directory was interrupted.
func (s *Store) checkFiles(db *pebble.DBDesc) error {
	note, err := s.watermark.read(numberNote, numberNoteLen)
	switch {
	case err != nil:
		return err
	case note == nil:
		return errNoWatermark
	case !db.Exists && binary.BigEndian.Uint64(note) == 0:
		return nil
	case !db.Exists:
		return fmt.Errorf("there is no database, but change %d was answered: %w", binary.BigEndian.Uint64(note), errDamaged)
	}
	if err := s.checkManifest(db.ManifestFilename); err != nil {
		return err
	}
	return s.checkLogs(db.ManifestFilename)
}

// checkManifest compares the manifest that Pebble is going to read with the
// note.
func (s *Store) checkManifest(path string) error {
	raw, err := s.watermark.read(manifestNote, manifestNoteLen)
	if err != nil || raw == nil {
		return err
	}
	noted := parseWrittenFile(raw)
	if number, ok := fileNumber(s.config.FS, path, manifestPrefix, ""); !ok || number != noted.number {
		return nil // the note is about another manifest, which was not yet, or is no longer, in use
	}
	return noted.check(s.config.FS, path)
}

// manifestFile is a manifest that is being written.
type manifestFile struct {
	vfs.File
	s       *Store
	written writtenFile
}

func (f *manifestFile) Write(p []byte) (int, error) { return f.written.write(f.File, p) }

func (f *manifestFile) Sync() error {
	if err := f.File.Sync(); err != nil {
		return err
	}
	return f.s.watermark.write(manifestNote, f.written.append(nil))
}
