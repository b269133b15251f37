package pebblestore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/task"
)

// block holds the audit entries of the batch being filled. They form one value,
// under the number of the last entry. A value for each entry would cost a fifth
// of the creates a second. A block costs little more than its bytes.
//
// Package codec defines the encoding. The numbers are consecutive, so only the
// key has one. When some entries of a block are swept, the other entries are
// written again under the same key.
type block struct {
	last    uint64 // number of the newest entry that was ever made
	value   []byte
	entries int
	before  settings.AuditEntry // the entry before, in the same block
}

// record adds an entry to the batch being filled.
func (c *committer) record(e settings.AuditEntry) {
	if c.config.AuditKeep < 0 {
		return
	}
	c.open()
	c.log.add(&e)
	e.Seq = c.log.last
	c.bound.count(&e, 1)
}

// Record implements store.SettingsStore.
func (s *Store) Record(ctx context.Context, entries []settings.AuditEntry) error {
	if len(entries) == 0 {
		return ctx.Err()
	}
	_, err := s.submit(ctx, &request{log: entries})
	return err
}

func (b *block) add(e *settings.AuditEntry) {
	if b.entries == 0 {
		b.value = append(b.value[:0], codec.Format)
		b.before = settings.AuditEntry{}
	}
	b.value = codec.AppendAuditEntry(b.value, &b.before, e)
	b.before = *e
	b.entries++
	b.last++
}

// write writes the block into the batch and begins the next block.
func (b *block) write(batch *pebble.Batch) error {
	if b.entries == 0 {
		return nil
	}
	b.entries = 0
	return batch.Set(appendAuditKey(nil, b.last), b.value, nil)
}

func appendAuditKey(dst []byte, last uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, auditPrefix...), last)
}

func parseAuditKey(key []byte) (last uint64, err error) {
	if len(key) != len(auditPrefix)+8 {
		return 0, fmt.Errorf("key %q of the audit log: %w", key, errDamaged)
	}
	return binary.BigEndian.Uint64(key[len(auditPrefix):]), nil
}

// parseBlock returns the entries of a block, the oldest first.
func parseBlock(key, value []byte) ([]settings.AuditEntry, error) {
	last, err := parseAuditKey(key)
	if err != nil {
		return nil, err
	}
	entries, err := codec.DecodeAuditEntries(string(value), settings.AuditEntry{})
	if err != nil {
		return nil, fmt.Errorf("audit entries up to %d: %w", last, err)
	}
	if uint64(len(entries)) > last {
		return nil, fmt.Errorf("%d audit entries up to %d: %w", len(entries), last, errDamaged)
	}
	for i := range entries {
		entries[i].Seq = last - uint64(len(entries)-1-i)
	}
	return entries, nil
}

// Audit implements store.SettingsStore.
func (s *Store) Audit(ctx context.Context, f settings.AuditFilter, before uint64, limit int) (settings.AuditPage, error) {
	var page settings.AuditPage
	err := s.read(ctx, "read the audit log", func() (err error) {
		page, err = readLog(s.db, f, before, limit)
		return err
	})
	if err != nil {
		return settings.AuditPage{}, err
	}
	return page, nil
}

func readLog(db *pebble.DB, f settings.AuditFilter, before uint64, limit int) (page settings.AuditPage, err error) {
	space := []byte(auditPrefix)
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: space, UpperBound: prefixEnd(space)})
	if err != nil {
		return settings.AuditPage{}, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	examined := 0
	for ok := seekLog(it, before); ok; ok = it.Prev() {
		value, err := it.ValueAndErr()
		if err != nil {
			return settings.AuditPage{}, err
		}
		entries, err := parseBlock(it.Key(), value)
		if err != nil {
			return settings.AuditPage{}, err
		}
		for _, e := range slices.Backward(entries) {
			switch {
			case before != 0 && e.Seq >= before:
				continue
			case examined >= task.MaxPageExamined || len(page.Entries) >= limit:
				return page, nil
			}
			examined++
			page.Next = e.Seq
			if f.Match(&e) {
				page.Entries = append(page.Entries, e)
			}
		}
	}
	page.Next = 0
	return page, it.Error()
}

// seekLog moves it to the block with the newest entry below before. If before
// is 0, it moves to the last block.
func seekLog(it *pebble.Iterator, before uint64) bool {
	if before != 0 && it.SeekGE(appendAuditKey(nil, before)) {
		return true // it holds before itself, or begins after it, so the caller continues with older blocks
	}
	return it.Last()
}

// sweepLog removes up to limit entries from the beginning of the log after
// their retention has ended. Whole blocks are removed as one range.
func (c *committer) sweepLog(r *request, limit int) (n int, err error) {
	space := []byte(auditPrefix)
	it, err := c.db.NewIter(&pebble.IterOptions{LowerBound: space, UpperBound: prefixEnd(space)})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	var gone []byte // the last block that is removed as a whole
	for ok := it.First(); ok && n < limit; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return 0, err
		}
		entries, err := parseBlock(it.Key(), value)
		if err != nil {
			return 0, err
		}
		over := 0
		for over < min(len(entries), limit-n) && entries[over].At.Add(max(c.config.AuditKeep, 0)) <= r.now {
			c.bound.count(&entries[over], -1)
			over++
		}
		n += over
		if over < len(entries) {
			err := c.shorten(r, it.Key(), entries[over:], over)
			return n, errors.Join(err, c.removeLog(r, gone))
		}
		gone = append(gone[:0], it.Key()...)
	}
	return n, errors.Join(c.removeLog(r, gone), it.Error())
}

// shorten writes the remaining entries of a block, if some were removed.
func (c *committer) shorten(r *request, key []byte, left []settings.AuditEntry, removed int) error {
	if removed == 0 {
		return nil
	}
	var b block
	for i := range left {
		b.add(&left[i])
	}
	c.touch(r)
	return c.open().Set(bytes.Clone(key), b.value, nil)
}

// removeLog removes the log up to the block with the key last.
func (c *committer) removeLog(r *request, last []byte) error {
	if last == nil {
		return nil
	}
	c.touch(r)
	return c.open().DeleteRange([]byte(auditPrefix), append(last, 0), nil)
}
