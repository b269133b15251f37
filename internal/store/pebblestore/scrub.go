package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/task"
)

// scrubbed are the key spaces that a scrub walks, in this order. Records come
// first, so that missing entries are restored before the entries are examined.
var scrubbed = []string{taskPrefix, bodyPrefix, idemPrefix, duePrefix, runPrefix, deadPrefix, donePrefix, keepPrefix}

// Scrub implements store.Scrubber. The cursor is the last key that was
// examined.
//
// It reads a snapshot. Each batch moves the store from one consistent state to
// another, so the snapshot must be consistent. A mismatch is only a doubt: the
// committer checks the present state again, and repairs it. So readers and
// writers are delayed only by doubts and by the count.
func (s *Store) Scrub(ctx context.Context, now task.Millis, cursor string, limit int) (store.Scrubbed, error) {
	sc, err := s.beginScrub(now, cursor, limit)
	if err != nil {
		return store.Scrubbed{}, err
	}
	if err := ctx.Err(); err != nil {
		return store.Scrubbed{}, err
	}
	if err := s.locked("scrub", sc.run); err != nil {
		return store.Scrubbed{}, err
	}
	for sc.repair.wanted() {
		r := &request{now: now, repair: &sc.repair, urgent: true}
		if _, err := s.submit(ctx, r); err != nil {
			return store.Scrubbed{}, err
		}
	}
	if sc.next == "" {
		s.abandoned.End()
	}
	return store.Scrubbed{Examined: sc.examined, Repairs: sc.repair.repairs, Next: sc.next}, nil
}

// scrub is one step of a scrub.
type scrub struct {
	*Store
	now   task.Millis
	space int    // index in scrubbed
	after []byte // the last key examined in that space; nil means none yet
	limit int

	view     *pebble.Snapshot
	examined int
	next     string
	repair   repair
}

func (s *Store) beginScrub(now task.Millis, cursor string, limit int) (*scrub, error) {
	sc := &scrub{Store: s, now: now, limit: max(limit, 1)}
	if cursor == "" {
		s.abandoned.Begin()
		sc.repair.first = true
		return sc, nil
	}
	for i, prefix := range scrubbed {
		if strings.HasPrefix(cursor, prefix) {
			sc.space, sc.after = i, []byte(cursor)
			return sc, nil
		}
	}
	return nil, fmt.Errorf("scrub: invalid cursor %q", cursor)
}

// run reads from the cursor until it has examined limit keys.
func (sc *scrub) run() (err error) {
	sc.view = sc.db.NewSnapshot()
	defer func() { err = errors.Join(err, sc.view.Close()) }()
	for ; sc.space < len(scrubbed); sc.space++ {
		whole, err := sc.walk(scrubbed[sc.space])
		if err != nil {
			return err
		}
		if !whole {
			return nil
		}
		sc.after = nil
	}
	sc.next = ""
	return nil
}

// walk examines the keys of a space. It reports whether it reached the end.
func (sc *scrub) walk(prefix string) (whole bool, err error) {
	space := []byte(prefix)
	from := space
	if sc.after != nil {
		from = append(sc.after, 0)
	}
	if prefix == taskPrefix {
		sc.repair.count, sc.repair.from = true, string(bytes.TrimPrefix(sc.after, space))
	}
	it, err := sc.view.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: prefixEnd(space)})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		if sc.examined == sc.limit {
			return false, it.Error()
		}
		sc.examined++
		sc.next = string(it.Key())
		value, err := it.ValueAndErr()
		if err != nil {
			return false, err
		}
		if prefix != taskPrefix {
			err = sc.examineEntry(it.Key(), value)
		} else {
			sc.repair.to = string(it.Key()[len(space):])
			err = sc.examineRecord(it.Key(), value)
		}
		if err != nil {
			return false, err
		}
	}
	if prefix == taskPrefix {
		sc.repair.last = true
	}
	return true, it.Error()
}

// examineRecord checks that everything that belongs to a record is there.
func (sc *scrub) examineRecord(key, value []byte) error {
	t, err := storedTask(key, value)
	if err != nil {
		return err
	}
	if err := checkBody(sc.view, t); err != nil { // a lost body cannot be repaired
		return err
	}
	lacks, err := lacking(sc.view, t)
	if err == nil && lacks != "" {
		sc.repair.records = append(sc.repair.records, t.Key())
	}
	return err
}

// lacking describes the missing entries of t, or returns "" if none is missing.
func lacking(from getter, t *task.Task) (string, error) {
	for _, e := range kernel.EntriesOf(t) {
		got, err := getValue(from, appendEntryKey(nil, t, e))
		if err != nil {
			return "", err
		}
		if got == nil || !bytes.Equal(got, appendEntryValue(nil, t, e.Index)) {
			return lackingEntry[e.Index], nil
		}
	}
	if d := digest(t); d != "" {
		owner, err := getValue(from, appendIdemKey(nil, t.Namespace, d))
		if err != nil {
			return "", err
		}
		if owner == nil {
			return store.FoundUnknownKey, nil
		}
	}
	return "", nil
}

var lackingEntry = [...]string{
	kernel.ByDue:       "it had no entry in the due index, and would never have fired",
	kernel.ByLease:     "it had no valid entry among the running tasks, and would have been stuck if its attempt was lost",
	kernel.DeadByEnd:   "it had no entry among the dead tasks, and would not have been listed with those that ended last",
	kernel.DoneByEnd:   "it had no entry among the finished tasks, and would not have been listed with those that ended last",
	kernel.ByRetention: "it had no valid entry among the ended tasks, and would never have been swept",
}

// getValue returns a copy of a key's value, or nil if there is none. The copy
// of an empty value is not nil.
func getValue(from getter, key []byte) ([]byte, error) {
	value, closer, err := from.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	return append([]byte{}, value...), nil
}

// examineEntry checks that an entry belongs to its record.
func (sc *scrub) examineEntry(key, value []byte) error {
	belongs, t, err := belonging(sc.view, key, value)
	if err != nil {
		return err
	}
	switch {
	case !belongs:
	case t.State == task.Running && bytes.HasPrefix(key, []byte(runPrefix)):
		if back, abandoned := sc.abandoned.Find(sc.now, t); abandoned {
			sc.repair.back = append(sc.repair.back, back)
		}
		return nil
	case bytes.HasPrefix(key, []byte(duePrefix)) && !sc.lanes.Covers(t.Entry()):
	default:
		return nil
	}
	sc.repair.entries = append(sc.repair.entries, bytes.Clone(key))
	return nil
}

// belonging reports whether an entry belongs to its record, and returns that
// record. The record is nil if it does not exist or the entry cannot be read.
func belonging(from getter, key, value []byte) (bool, *task.Task, error) {
	owner, ok := ownerOf(key, value)
	if !ok {
		return false, nil, nil
	}
	t, err := getRecord(from, owner)
	if err != nil || t == nil {
		return false, nil, err
	}
	switch {
	case bytes.HasPrefix(key, []byte(bodyPrefix)):
		return apart(t), t, nil
	case bytes.HasPrefix(key, []byte(idemPrefix)):
		return digest(t) != "" && bytes.Equal(key, appendIdemKey(nil, t.Namespace, digest(t))), t, nil
	}
	in, has := indexOf(t, key)
	return has && bytes.Equal(value, appendEntryValue(nil, t, in)), t, nil
}

// indexOf returns the index in which t has an entry with that key.
func indexOf(t *task.Task, key []byte) (in kernel.Index, has bool) {
	for _, e := range kernel.EntriesOf(t) {
		if bytes.Equal(key, appendEntryKey(nil, t, e)) {
			return e.Index, true
		}
	}
	return 0, false
}

// ownerOf returns the key of the task that an entry is about.
func ownerOf(key, value []byte) (owner task.Key, ok bool) {
	prefix, rest, _ := bytes.Cut(key, []byte("/"))
	var err error
	switch string(prefix) + "/" {
	case duePrefix:
		lane, at, _, err := parseDueKey(key)
		return task.Key{Namespace: lane.Namespace, Name: at.Name}, err == nil
	case idemPrefix:
		owner, err = parseName(rest)
		owner.Name = string(value)
	case deadPrefix, donePrefix:
		if owner, err = parseName(rest); len(owner.Name) < task.EndedPlaceTime {
			return task.Key{}, false
		}
		owner.Name = owner.Name[task.EndedPlaceTime:]
	case keepPrefix:
		if len(rest) < instantLen {
			return task.Key{}, false
		}
		owner, err = parseName(rest[instantLen:])
	default:
		owner, err = parseName(rest)
	}
	return owner, err == nil
}
