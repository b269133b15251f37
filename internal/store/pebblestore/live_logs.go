package pebblestore

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	logrecord "github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// writtenFile describes the written part of a log or a manifest.
type writtenFile struct {
	number   uint64 // the number of the file
	length   uint64
	checksum uint32
}

const writtenFileLen = 8 + 8 + 4

// write appends p to the file.
func (w *writtenFile) write(to vfs.File, p []byte) (int, error) {
	// Before the write, which may change p; a failed write ends the file.
	w.checksum = crc32.Update(w.checksum, castagnoli, p)
	n, err := to.Write(p)
	w.length += uint64(n)
	return n, err
}

func (w *writtenFile) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, w.number)
	dst = binary.BigEndian.AppendUint64(dst, w.length)
	return binary.BigEndian.AppendUint32(dst, w.checksum)
}

func parseWrittenFile(b []byte) writtenFile {
	return writtenFile{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint32(b[16:])}
}

// check compares the file at path, which may be longer, with w.
func (w *writtenFile) check(fs vfs.FS, path string) error {
	f, err := fs.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s is missing: %w", path, errDamaged)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	sum := crc32.New(castagnoli)
	n, err := io.Copy(sum, io.LimitReader(f, int64(w.length)))
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if uint64(n) != w.length || sum.Sum32() != w.checksum {
		return fmt.Errorf("%s is not as it was written: %w", path, errDamaged)
	}
	return nil
}

// Pebble reads the logs that exist, and does not notice that one of them is missing or
// empty, so the watermark describes the logs that were closed last. (All logs but the
// newest one are closed, and numberNote covers that one.) A log is added after Pebble
// has synced and closed it, and before Pebble begins the next one. Pebble removes a log
// only after a synced manifest says that it is not needed. Logs without changes are
// left out, so a directory that was closed in order may be copied without them.
const (
	maxClosedLogs = 16 // many more than the logs that memTables allows
	emptyLog      = 30 // the length of a log without changes, at most: a trailer
	logsNoteLen   = maxClosedLogs*writtenFileLen + checksumLen
)

// addLog describes a log that was closed.
func (w *watermark) addLog(log *writtenFile) error {
	note, err := w.read(logsNote, logsNoteLen)
	if err != nil {
		return err
	}
	if note == nil {
		note = make([]byte, logsNoteLen-checksumLen)
	}
	return errors.Join(w.write(logsNote, log.append(note[writtenFileLen:])), w.file.Sync())
}

// checkLogs checks the closed logs that Pebble is going to read.
func (s *Store) checkLogs(manifest string) error {
	note, err := s.watermark.read(logsNote, logsNoteLen)
	if err != nil {
		return err
	}
	least, err := oldestLog(s.config.FS, manifest)
	if err != nil {
		return err
	}
	for ; len(note) > 0; note = note[writtenFileLen:] {
		log := parseWrittenFile(note)
		if log.number == 0 || log.number < least {
			continue
		}
		if err := log.check(s.config.FS, s.config.FS.PathJoin(s.dir, fmt.Sprintf("%06d%s", log.number, logSuffix))); err != nil {
			return err
		}
	}
	return nil
}

// The fields at the beginning of an edit in a manifest.
const (
	manifestComparer = 1 // a text
	manifestLog      = 2 // the number of the oldest log that is needed
)

// oldestLog returns the number of the oldest log that Pebble needs, from the last edit
// of the manifest that has one. Like Pebble, it stops at the first edit that is
// incomplete.
func oldestLog(fs vfs.FS, manifest string) (oldest uint64, err error) {
	f, err := fs.Open(manifest)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for edits := logrecord.NewReader(f, 0); ; {
		edit, err := edits.Next()
		if err != nil {
			return oldest, nil //nolint:nilerr // Pebble reads the manifest next, and reports errors
		}
		r := bufio.NewReader(edit) // an incomplete field is 0 or has no number
		field, _ := binary.ReadUvarint(r)
		if field == manifestComparer {
			length, _ := binary.ReadUvarint(r)
			_, _ = r.Discard(int(length))
			field, _ = binary.ReadUvarint(r)
		}
		if field == manifestLog {
			if n, err := binary.ReadUvarint(r); err == nil {
				oldest = n
			}
		}
	}
}
