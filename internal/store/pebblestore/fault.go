package pebblestore

import (
	"bytes"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/task"
)

// fault is an error in a record or an entry.
type fault struct {
	owner task.Key
	task  *task.Task // the record; nil if it does not exist
	found string     // a sentence of a store.Repair; empty means that nothing is wrong
	lacks bool       // the record lacks entries. Otherwise the entry must go
}

// faultOf examines a record, or an entry of a record, both of the same moment. A lost
// body is an error, because no repair can restore it.
func faultOf(from pebble.Reader, key, value []byte) (f fault, err error) {
	if bytes.HasPrefix(key, []byte(taskPrefix)) {
		if f.task, err = storedTask(key, value); err != nil {
			return f, err
		}
		f.owner, f.lacks = f.task.Key(), true
		if err = checkBody(from, f.task); err == nil {
			f.found, err = lacking(from, f.task)
		}
		return f, err
	}
	owner, ok := ownerOf(key, value)
	if f.owner = owner; ok {
		if f.task, err = getRecord(from, owner); err != nil {
			return f, err
		}
	}
	belongs, in := belonging(f.task, key)
	switch prefix := prefixOf(key); {
	case !belongs:
		f.found = store.FoundEntry(prefix[:len(prefix)-1], f.task != nil)
	case prefix != bodyPrefix && prefix != idemPrefix && !bytes.Equal(value, appendEntryValue(nil, f.task, in)):
		f.found, f.lacks = kernel.FoundMissing[in], true
	}
	return f, nil
}

// lacking describes the missing entries of t, or returns "" if none is missing.
func lacking(from pebble.Reader, t *task.Task) (string, error) {
	for _, e := range kernel.EntriesOf(t) {
		got, err := getValue(from, appendEntryKey(nil, t, e))
		if err != nil {
			return "", err
		}
		if got == nil || !bytes.Equal(got, appendEntryValue(nil, t, e.Index)) {
			return kernel.FoundMissing[e.Index], nil
		}
	}
	if d := digest(t); d != "" {
		owner, err := getValue(from, appendIdemKey(nil, t.Namespace, d))
		if err != nil || owner == nil {
			return store.FoundUnknownKey, err
		}
	}
	return "", nil
}

// belonging reports whether t has an entry with that key, and in which index.
func belonging(t *task.Task, key []byte) (belongs bool, in kernel.Index) {
	switch prefix := prefixOf(key); {
	case t == nil:
		return false, 0
	case prefix == bodyPrefix:
		return apart(t), 0
	case prefix == idemPrefix:
		return digest(t) != "" && bytes.Equal(key, appendIdemKey(nil, t.Namespace, digest(t))), 0
	}
	for _, e := range kernel.EntriesOf(t) {
		if bytes.Equal(key, appendEntryKey(nil, t, e)) {
			return true, e.Index
		}
	}
	return false, 0
}

// getValue returns a copy of a key's value, or nil if there is none; the copy of an
// empty value is not nil.
func getValue(from pebble.Reader, key []byte) ([]byte, error) {
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

// ownerOf returns the key of the task that an entry is about.
func ownerOf(key, value []byte) (owner task.Key, ok bool) {
	prefix := prefixOf(key)
	rest := key[len(prefix):]
	var err error
	switch prefix {
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

// prefixOf returns the first word of a key, with its slash.
func prefixOf(key []byte) string { return string(key[:bytes.IndexByte(key, '/')+1]) }
