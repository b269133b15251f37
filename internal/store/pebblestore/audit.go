package pebblestore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/foliot/foliot/internal/task"
)

// block is the entries that the batch being filled adds to the audit log. They
// are one value, under the number of the last of them: an entry of its own for
// each change would cost a fifth of the creates a second, a block costs little
// more than its bytes.
//
// On disk: a format byte, and then the entries, the oldest first, each behind
// its length in Protocol Buffers' wire format. Their numbers follow each other,
// so only the key has one. A field that is as in the entry before is left out,
// which is most of them. When a part of a block is swept, the rest is written
// again under the same key.
type block struct {
	last    uint64 // number of the newest entry that was ever made
	value   []byte
	entry   []byte // scratch
	entries int
	before  task.AuditEntry // in the block
}

// The fields of an entry.
const (
	entryAt        = 1
	entryBy        = 2
	entryAddr      = 3
	entryNamespace = 4
	entryAction    = 5
	entryTarget    = 6
	entryID        = 7 // left out where it is the target, as that of a task without a name of its own
	entryVersion   = 8
	entryDetail    = 9
	entryOwnName   = 10
	entrySame      = 11 // which fields are as in the entry before: the bits below
)

const (
	sameAt = 1 << iota
	sameBy
	sameAddr
	sameNamespace
	sameAction
)

// record adds an entry to the batch being filled.
func (c *committer) record(e task.AuditEntry) {
	if c.config.AuditKeep < 0 {
		return
	}
	c.open()
	c.log.add(&e)
}

func (b *block) add(e *task.AuditEntry) {
	if b.entries == 0 {
		b.value = append(b.value[:0], recordFormat)
		b.before = task.AuditEntry{}
	}
	b.entry = appendEntry(b.entry[:0], &b.before, e)
	b.before = *e
	b.value = protowire.AppendBytes(b.value, b.entry)
	b.entries++
	b.last++
}

// write writes the block into the batch, and begins the next one.
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

func appendEntry(dst []byte, before, e *task.AuditEntry) []byte {
	var same uint64
	if e.At == before.At {
		same |= sameAt
	} else {
		dst = appendInt(dst, entryAt, int64(e.At))
	}
	for _, f := range []struct {
		num     protowire.Number
		bit     uint64
		old, is string
	}{
		{entryBy, sameBy, before.By, e.By},
		{entryAddr, sameAddr, before.Addr, e.Addr},
		{entryNamespace, sameNamespace, before.Namespace, e.Namespace},
		{entryAction, sameAction, before.Action, e.Action},
	} {
		if f.is == f.old {
			same |= f.bit
		} else {
			dst = appendString(dst, f.num, f.is)
		}
	}
	dst = appendString(dst, entryTarget, e.Target)
	if e.ID == e.Target {
		dst = appendBool(dst, entryOwnName, e.ID != "")
	} else {
		dst = appendString(dst, entryID, e.ID)
	}
	dst = appendUint(dst, entryVersion, e.Version)
	dst = appendString(dst, entryDetail, e.Detail)
	return appendUint(dst, entrySame, same)
}

func decodeEntry(before *task.AuditEntry, src []byte) (e task.AuditEntry, err error) {
	own := false
	err = eachField(src, func(f field) error {
		switch f.num {
		case entryAt:
			e.At = f.millis()
		case entryBy:
			e.By = string(f.bytes)
		case entryAddr:
			e.Addr = string(f.bytes)
		case entryNamespace:
			e.Namespace = string(f.bytes)
		case entryAction:
			e.Action = string(f.bytes)
		case entryTarget:
			e.Target = string(f.bytes)
		case entryID:
			e.ID = string(f.bytes)
		case entryOwnName:
			own = f.bool()
		case entryVersion:
			e.Version = f.number
		case entryDetail:
			e.Detail = string(f.bytes)
		case entrySame:
			repeat(&e, before, f.number)
		}
		return nil
	})
	if own {
		e.ID = e.Target
	}
	return e, err
}

// repeat sets the fields of e that are as before.
func repeat(e, before *task.AuditEntry, same uint64) {
	if same&sameAt != 0 {
		e.At = before.At
	}
	if same&sameBy != 0 {
		e.By = before.By
	}
	if same&sameAddr != 0 {
		e.Addr = before.Addr
	}
	if same&sameNamespace != 0 {
		e.Namespace = before.Namespace
	}
	if same&sameAction != 0 {
		e.Action = before.Action
	}
}

// parseBlock returns the entries of a block, the oldest first.
func parseBlock(key, value []byte) ([]task.AuditEntry, error) {
	last, err := parseAuditKey(key)
	if err != nil {
		return nil, err
	}
	src, err := unwrap(value)
	if err != nil {
		return nil, err
	}
	var entries []task.AuditEntry
	var before task.AuditEntry
	for len(src) > 0 {
		data, n := protowire.ConsumeBytes(src)
		if n < 0 {
			return nil, fmt.Errorf("audit entries up to %d: %w: %w", last, errDamaged, protowire.ParseError(n))
		}
		if before, err = decodeEntry(&before, data); err != nil {
			return nil, fmt.Errorf("audit entries up to %d: %w", last, err)
		}
		entries, src = append(entries, before), src[n:]
	}
	if uint64(len(entries)) > last {
		return nil, fmt.Errorf("%d audit entries up to %d: %w", len(entries), last, errDamaged)
	}
	for i := range entries {
		entries[i].Seq = last - uint64(len(entries)-1-i)
	}
	return entries, nil
}

// Audit implements task.Registry.
func (s *Store) Audit(ctx context.Context, f task.AuditFilter, before uint64, limit int) (task.AuditPage, error) {
	var page task.AuditPage
	err := s.read(ctx, "read the audit log", func() (err error) {
		page, err = readLog(s.db, f, before, limit)
		return err
	})
	if err != nil {
		return task.AuditPage{}, err
	}
	return page, nil
}

func readLog(db *pebble.DB, f task.AuditFilter, before uint64, limit int) (page task.AuditPage, err error) {
	space := []byte(auditPrefix)
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: space, UpperBound: prefixEnd(space)})
	if err != nil {
		return task.AuditPage{}, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	examined := 0
	for ok := seekLog(it, before); ok; ok = it.Prev() {
		value, err := it.ValueAndErr()
		if err != nil {
			return task.AuditPage{}, err
		}
		entries, err := parseBlock(it.Key(), value)
		if err != nil {
			return task.AuditPage{}, err
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

// seekLog moves it to the block with the newest entry below before; 0: of all.
func seekLog(it *pebble.Iterator, before uint64) bool {
	if before != 0 && it.SeekGE(appendAuditKey(nil, before)) {
		return true // it holds before itself, or begins behind it: the next one is tried then
	}
	return it.Last()
}

// sweepLog removes entries whose retention is over from the beginning of the
// log, at most limit: whole blocks as one range.
func (c *committer) sweepLog(r *request, limit int) (n int, err error) {
	space := []byte(auditPrefix)
	it, err := c.db.NewIter(&pebble.IterOptions{LowerBound: space, UpperBound: prefixEnd(space)})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	var gone []byte // the last block of which nothing stays
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

// shorten puts what is left of a block in its place, where something was removed.
func (c *committer) shorten(r *request, key []byte, left []task.AuditEntry, removed int) error {
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

// removeLog removes the log up to the block of that key.
func (c *committer) removeLog(r *request, last []byte) error {
	if last == nil {
		return nil
	}
	c.touch(r)
	return c.open().DeleteRange([]byte(auditPrefix), append(last, 0), nil)
}
