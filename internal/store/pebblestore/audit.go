package pebblestore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/task"
)

// record adds an entry to the batch being filled, with the next number, so that
// the entry that leaves the log has a known key.
func (c *committer) record(e *settings.AuditEntry) error {
	c.entry++
	b := c.open()
	err := b.Set(appendAuditKey(nil, c.entry), codec.EncodeAuditEntry(e), nil)
	if c.entry > settings.MaxAuditEntries {
		err = errors.Join(err, b.Delete(appendAuditKey(nil, c.entry-settings.MaxAuditEntries), nil))
	}
	return err
}

// noteAll adds the entries of n, each as a step of its own.
func (c *committer) noteAll(r *request, n settings.Note) error {
	for i := range n {
		if err := c.makeRoom(true); err != nil {
			return err
		}
		c.touch(r)
		if err := c.record(&n[i]); err != nil {
			return err
		}
		c.filling.steps++
	}
	return nil
}

func appendAuditKey(dst []byte, number uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, auditPrefix...), number)
}

func parseAuditEntry(key, value []byte) (settings.AuditEntry, error) {
	if len(key) != len(auditPrefix)+8 {
		return settings.AuditEntry{}, fmt.Errorf("audit entry %q: %w", key, errDamaged)
	}
	return codec.DecodeAuditEntry(binary.BigEndian.Uint64(key[len(auditPrefix):]), value)
}

// Audit implements store.SettingsStore.
func (s *Store) Audit(ctx context.Context, f settings.AuditFilter, before uint64, limit int) (page settings.AuditPage, err error) {
	err = s.read(ctx, "read the audit log", func() error {
		page, err = readLog(s.db, f, before, limit)
		return err
	})
	return page, err
}

func readLog(db *pebble.DB, f settings.AuditFilter, before uint64, limit int) (page settings.AuditPage, err error) {
	space := []byte(auditPrefix)
	end := prefixEnd(space)
	if before != 0 {
		end = appendAuditKey(nil, before)
	}
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: space, UpperBound: end})
	if err != nil {
		return settings.AuditPage{}, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	examined := 0
	for ok := it.Last(); ok; ok = it.Prev() {
		if examined >= task.MaxPageExamined || len(page.Entries) >= limit {
			return page, nil
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return settings.AuditPage{}, err
		}
		e, err := parseAuditEntry(it.Key(), value)
		if err != nil {
			return settings.AuditPage{}, err
		}
		examined++
		page.Next = e.Seq
		if f.Match(&e) {
			page.Entries = append(page.Entries, e)
		}
	}
	page.Next = 0
	return page, it.Error()
}

// sweepLog removes up to limit entries from the beginning of the log after their
// retention has ended.
func (c *committer) sweepLog(r *request, limit int) (n int, err error) {
	space := []byte(auditPrefix)
	var last []byte
	_, err = each(c.db, space, prefixEnd(space), func(key, value []byte) (bool, error) {
		e, err := parseAuditEntry(key, value)
		if err != nil || n == limit || e.At.Add(c.config.AuditKeep) > r.now {
			return false, err
		}
		last = append(last[:0], key...)
		n++
		return true, nil
	})
	if n > 0 && err == nil {
		c.touch(r)
		err = c.open().DeleteRange(space, append(last, 0), nil)
	}
	return n, err
}
