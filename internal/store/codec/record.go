package codec

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// AppendRecord appends the record of t, without its body, to dst. Two calls for
// one task may append different bytes: its labels and headers come in no order.
func AppendRecord(dst []byte, t *task.Task) []byte {
	rest := *t // loses each field that the head states
	var id [16]byte
	flags := uint64(0)
	if parsed, ok := parseUUID(t.ID); ok {
		id, rest.ID = parsed, ""
		if flags = hasUUID; t.ID == t.Name {
			flags = nameIsID
		}
		if t.CreatedAt == timeOf(id) {
			flags, rest.CreatedAt = flags|createdWithID, 0
		}
	}
	if t.State == task.Scheduled {
		flags, rest.State = flags|isScheduled, 0
	}
	if t.OriginalDue == t.Due {
		flags, rest.OriginalDue = flags|dueIsOriginal, 0
	}
	if t.Version == 1 {
		flags, rest.Version = flags|firstVersion, 0
	}
	if t.Queue == theQueue {
		flags, rest.Queue = flags|usualQueue, ""
	}
	if t.Priority == thePriority {
		flags, rest.Priority = flags|usualPriority, 0
	}
	if t.Request.Method == theMethod {
		flags, rest.Request.Method = flags|usualMethod, ""
	}
	if t.Timeout == theTimeout && t.ExpireAfter == 0 && t.Retry == theRetry {
		flags, rest.Timeout, rest.Retry = flags|usualLimits, 0, task.Retry{}
	}
	if t.Relative && t.Delay == delayOf(t) {
		flags, rest.Relative, rest.Delay = flags|delayIsUsual, false, 0
	}
	url, scheme := cutScheme(t.Request.URL)
	if flags |= scheme; isDestination(t.Request.Destination, url, scheme) {
		flags, rest.Request.Destination = flags|destinationOfURL, ""
	}
	if l := t.Lease; l != nil && l.TaskID == t.ID && l.Timeout == t.Timeout {
		flags, rest.Lease = flags|leaseIsUsual, &task.Lease{Token: l.Token, Since: l.Since, Until: l.Until, Holder: l.Holder}
	}
	body := uint64(0)
	if size, kind := t.Request.BodySize, t.Request.BodyKind; size >= 0 && size <= maxHeadSize && kind <= maxHeadKind {
		body, rest.Request.BodySize, rest.Request.BodyKind = uint64(size)<<2|uint64(kind), 0, 0
	}
	rest.Due, rest.Request.URL = 0, ""

	dst = binary.AppendUvarint(append(dst, Format), flags)
	if flags&hasUUID != 0 {
		dst = append(dst, id[:]...)
	}
	dst = binary.AppendVarint(dst, int64(t.Due-t.CreatedAt)) // an overflow is undone when it is added
	dst = append(binary.AppendUvarint(dst, uint64(len(url))), url...)
	c := coder[string]{dst: binary.AppendUvarint(dst, body)}
	c.task(&rest)
	return c.dst
}

// AppendBody appends a body to a record, so that DecodeRecord returns the task
// with its body.
func AppendBody(dst, body []byte) []byte {
	c := coder[string]{dst: dst}
	text(&c, fieldBody, &body)
	return c.dst
}

// DecodeRecord returns the record src of the task with that key. It has its body
// only if AppendBody was called, and does not refer to src. Errors name the task.
func DecodeRecord(key task.Key, src []byte) (*task.Task, error) { return ParseRecord(key, string(src)) }

// ParseRecord is DecodeRecord of a string, and texts of the result can be parts
// of src.
func ParseRecord(key task.Key, src string) (*task.Task, error) {
	t := &task.Task{Namespace: key.Namespace, Name: key.Name}
	src, err := Unwrap(src)
	if err == nil {
		err = decodeFields(t, src)
	}
	if err == nil && (!t.State.Valid() || (t.State == task.Running) != (t.Lease != nil)) {
		err = fmt.Errorf("state %d: %w", t.State, ErrDamaged)
	}
	if err != nil {
		return nil, fmt.Errorf("record of task %q in namespace %q: %w", t.Name, t.Namespace, err)
	}
	return t, nil
}

// Unwrap returns the bytes after a value's format byte, as a part of src, not a
// copy.
func Unwrap[T string | []byte](src T) (fields T, err error) {
	if len(src) == 0 {
		return fields, fmt.Errorf("empty: %w", ErrDamaged)
	}
	if src[0] != Format {
		return fields, fmt.Errorf("its first byte is %d, not %d: %w", src[0], Format, ErrDamaged)
	}
	return src[1:], nil
}

// EncodeAuditEntry returns an entry of the audit log as a store keeps it, without Seq.
func EncodeAuditEntry(e *settings.AuditEntry) []byte {
	data, _ := json.Marshal(e) // marshalling texts and numbers cannot fail
	return append([]byte{Format}, data...)
}

// DecodeAuditEntry returns the entry that has this Seq.
func DecodeAuditEntry(seq uint64, src []byte) (e settings.AuditEntry, err error) {
	data, err := Unwrap(src)
	if err == nil {
		if err = json.Unmarshal(data, &e); err != nil {
			err = fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	if e.Seq = seq; err != nil {
		err = fmt.Errorf("entry %d of the audit log: %w", seq, err)
	}
	return e, err
}

// otherQueue stands for a queue with which a filter does not match.
const otherQueue = "\x00"

// MatchRecord reports whether the record src of the task with that name matches
// f, as f.Match would. It decodes only the fields that f can test, for a small
// part of the cost of DecodeRecord.
func MatchRecord(src []byte, namespace string, name []byte, f *task.Filter) (bool, error) {
	if f.Destination != "" { // it can follow from other fields
		t, err := DecodeRecord(task.Key{Namespace: namespace, Name: string(name)}, src)
		return err == nil && f.Match(t), err
	}
	src, err := Unwrap(src)
	if err != nil {
		return false, err
	}
	h := readHead(src, name)
	if h.damaged {
		return false, errHead
	}
	t := task.Task{Namespace: namespace}
	if f.NeedsName() {
		t.Name = string(name)
	}
	h.setTimes(&t)
	setUsual(&t, h.flags)
	c := read(h.reader)
	unsigned(&c, fieldState, &t.State)
	for ; c.at(fieldQueue); c.advance() { // comparisons need no copy of the name
		if t.Queue = otherQueue; string(c.value) == f.Queue {
			t.Queue = f.Queue
		} else if string(c.value) == task.ScheduleQueue {
			t.Queue = task.ScheduleQueue
		}
	}
	if len(f.Labels) > 0 {
		c.pairs(fieldLabel, &t.Labels)
	}
	if f.DueBefore != 0 || f.DueAfter != 0 || f.EnteredBefore != 0 {
		signed(&c, fieldCreatedAt, &t.CreatedAt)
		signed(&c, fieldOriginalDue, &t.OriginalDue)
	}
	if f.Reason != "" {
		text(&c, fieldReason, &t.Reason)
	}
	if f.EndedAfter != 0 || f.EndedBefore != 0 {
		signed(&c, fieldFinishedAt, &t.FinishedAt)
	}
	if f.EnteredBefore != 0 {
		signed(&c, fieldQueuedAt, &t.QueuedAt)
	}
	if c.damaged {
		return false, errFields
	}
	h.setDue(&t)
	return f.Match(&t), nil
}
