package pebblestore

import (
	"bytes"
	"errors"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"

	"github.com/foliot/foliot/internal/settings"
)

// boundStep is how many audit entries one sweep reads at most, to count or to
// drop them. The committer waits for that.
const boundStep = 20_000

// logBound counts the audit entries of tasks in namespaces with a quota of
// bytes. The counts are not on disk. After a start they are made from the log
// itself, a part at each sweep. So they are right after any crash. logBound
// counts only while some namespace has such a quota.
type logBound struct {
	counting bool
	until    uint64 // entries up to this one are counted from the log, later ones when they are made
	walked   uint64 // entries up to this one have been counted from the log
	done     bool   // all entries up to until have been counted

	entries map[string]int64
	behind  map[string]uint64 // no entry up to this number is about a task of the namespace
}

// count adds a new entry to the counts, or with -1 removes one.
func (b *logBound) count(e *settings.AuditEntry, sign int64) {
	if b.counting && e.OfTask() && (e.Seq > b.until || e.Seq <= b.walked) {
		b.entries[e.Namespace] += sign
	}
}

// boundLog drops the oldest entries of tasks in namespaces with more entries
// than their quota of bytes allows.
func (c *committer) boundLog(r *request) error {
	var limited []*settings.NamespaceSettings
	for _, setting := range c.newest.List(settings.NamespaceKind, "") {
		if n := setting.(*settings.NamespaceSettings); n.MaxBytes > 0 {
			limited = append(limited, n)
		}
	}
	b := &c.bound
	switch {
	case len(limited) == 0 || c.config.AuditKeep < 0:
		*b = logBound{}
		return nil
	case !b.counting:
		*b = logBound{counting: true, until: c.log.last, entries: map[string]int64{}, behind: map[string]uint64{}}
	}
	if !b.done {
		return c.countLog()
	}
	for _, n := range limited {
		room, _ := n.AuditRoom(c.counters.namespace(n.Name).Bytes)
		if b.entries[n.Name] <= room {
			continue
		}
		// One namespace at a time: the next one would read blocks that this
		// batch changes.
		if dropped, err := c.dropEntries(r, n.Name, b.entries[n.Name]-settings.AuditKept(room), room); err != nil || dropped {
			return err
		}
	}
	return nil
}

// blocks calls f with the blocks of the log that end after the number behind,
// the oldest first, until f returns false. It reports whether f saw all of
// them.
func (c *committer) blocks(behind uint64, f func(key []byte, entries []settings.AuditEntry) (bool, error)) (all bool, err error) {
	it, err := c.db.NewIter(&pebble.IterOptions{LowerBound: appendAuditKey(nil, behind+1), UpperBound: prefixEnd([]byte(auditPrefix))})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return false, err
		}
		entries, err := parseBlock(it.Key(), value)
		if err != nil {
			return false, err
		}
		if more, err := f(it.Key(), entries); err != nil || !more {
			return false, err
		}
	}
	return true, it.Error()
}

// countLog counts some of the entries that were in the log when counting began.
func (c *committer) countLog() error {
	b, seen := &c.bound, 0
	all, err := c.blocks(b.walked, func(key []byte, entries []settings.AuditEntry) (bool, error) {
		last, err := parseAuditKey(key)
		if err != nil || last > b.until {
			b.done = err == nil
			return false, err
		}
		for i := range entries {
			if entries[i].Seq > b.walked && entries[i].OfTask() {
				b.entries[entries[i].Namespace]++
			}
		}
		b.walked = last
		seen += len(entries)
		return seen < boundStep, nil
	})
	b.done = b.done || all
	return err
}

// dropEntries removes the oldest n entries of tasks of a namespace, or as many
// as it finds within boundStep. It reports whether it removed any.
func (c *committer) dropEntries(r *request, namespace string, n, room int64) (bool, error) {
	b, seen, dropped := &c.bound, 0, int64(0)
	_, err := c.blocks(b.behind[namespace], func(key []byte, entries []settings.AuditEntry) (bool, error) {
		left := make([]settings.AuditEntry, 0, len(entries))
		for i, e := range entries {
			if dropped < n && e.Namespace == namespace && e.OfTask() {
				b.count(&entries[i], -1)
				dropped++
			} else {
				left = append(left, e)
			}
		}
		if dropped < n {
			b.behind[namespace] = entries[len(entries)-1].Seq
		}
		seen += len(entries)
		switch {
		case len(left) == len(entries):
		case len(left) == 0:
			c.touch(r)
			if err := c.open().Delete(bytes.Clone(key), nil); err != nil {
				return false, err
			}
		default:
			if err := c.shorten(r, key, left, len(entries)-len(left)); err != nil {
				return false, err
			}
		}
		return dropped < n && seen < boundStep, nil
	})
	if err != nil || dropped == 0 {
		return false, err
	}
	c.config.Logger.Warn("the oldest audit entries of a namespace were dropped: its quota max_bytes has no room for them",
		slog.String("namespace", namespace), slog.Int64("dropped", dropped), slog.Int64("limit", room))
	c.touch(r)
	c.record(settings.AuditDropped(r.now, namespace, dropped, room))
	return true, nil
}
