package codec

import (
	"encoding/binary"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/foliot/foliot/internal/task"
)

// The fields of a pair: a label, a header, an idempotency mark.
const (
	pairFirst  = 1
	pairSecond = 2
)

// The fields of an attempt.
const (
	attemptNumber    = 1
	attemptStartedAt = 2
	attemptStatus    = 3
	attemptError     = 4
	attemptLatency   = 5
	attemptLate      = 6
	attemptReply     = 7
	attemptDetail    = 8
	attemptWaited    = 9
)

// The fields of a lease.
const (
	leaseToken   = 1
	leaseSince   = 2
	leaseUntil   = 3
	leaseTaskID  = 4
	leaseTimeout = 5
	leaseHolder  = 6
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
	dst = binary.AppendUvarint(dst, uint64(len(url)))
	dst = append(dst, url...)
	dst = binary.AppendUvarint(dst, body)
	return appendFields(dst, &rest)
}

// DecodeRecord returns the record src of the task with that key. It has its body
// only if AppendBody was called, and does not refer to src. Errors name the task.
func DecodeRecord(key task.Key, src []byte) (*task.Task, error) {
	return decodeRecord(key, src, string(src))
}

// ParseRecord is DecodeRecord of a string, and texts of the result can be parts
// of src.
func ParseRecord(key task.Key, src string) (*task.Task, error) {
	return decodeRecord(key, []byte(src), src)
}

// decodeRecord decodes src, with same as a copy of src: see eachField.
func decodeRecord(key task.Key, src []byte, same string) (*task.Task, error) {
	t := &task.Task{Namespace: key.Namespace, Name: key.Name}
	src, err := Unwrap(src)
	if err == nil {
		err = decodeFields(t, src, same[1:])
	}
	return checked(t, err)
}

// AppendBody appends a body to a record, so that DecodeRecord returns the task
// with its body.
func AppendBody(dst, body []byte) []byte {
	if len(body) == 0 {
		return dst
	}
	dst = protowire.AppendTag(dst, fieldBody, protowire.BytesType)
	return protowire.AppendBytes(dst, body)
}

func appendAttempt(dst []byte, a *task.Attempt) []byte {
	dst = appendInt(dst, attemptNumber, int64(a.Number))
	dst = appendInt(dst, attemptStartedAt, int64(a.StartedAt))
	dst = appendInt(dst, attemptStatus, int64(a.Status))
	dst = appendString(dst, attemptError, a.Error)
	dst = appendDuration(dst, attemptLatency, a.Latency)
	dst = appendDuration(dst, attemptLate, a.Late)
	dst = appendString(dst, attemptReply, a.Reply)
	dst = appendString(dst, attemptDetail, a.Detail)
	return appendDuration(dst, attemptWaited, a.Waited)
}

func appendLease(dst []byte, l *task.Lease) []byte {
	dst = appendString(dst, leaseToken, string(l.Token))
	dst = appendInt(dst, leaseSince, int64(l.Since))
	dst = appendInt(dst, leaseUntil, int64(l.Until))
	dst = appendString(dst, leaseTaskID, l.TaskID)
	dst = appendInt(dst, leaseTimeout, int64(l.Timeout))
	return appendString(dst, leaseHolder, l.Holder)
}

func appendUint(dst []byte, num protowire.Number, v uint64) []byte {
	if v == 0 {
		return dst
	}
	dst = protowire.AppendTag(dst, num, protowire.VarintType)
	return protowire.AppendVarint(dst, v)
}

func appendInt(dst []byte, num protowire.Number, v int64) []byte {
	return appendUint(dst, num, protowire.EncodeZigZag(v))
}

func appendDuration(dst []byte, num protowire.Number, v time.Duration) []byte {
	return appendInt(dst, num, int64(v))
}

func appendBool(dst []byte, num protowire.Number, v bool) []byte {
	return appendUint(dst, num, protowire.EncodeBool(v))
}

func appendString(dst []byte, num protowire.Number, v string) []byte {
	if v == "" {
		return dst
	}
	dst = protowire.AppendTag(dst, num, protowire.BytesType)
	return protowire.AppendString(dst, v)
}

// appendMessage appends the output of add, after its length.
func appendMessage(dst []byte, num protowire.Number, add func([]byte) []byte) []byte {
	dst = protowire.AppendTag(dst, num, protowire.BytesType)
	start := len(dst)
	dst = add(dst)
	end := len(dst)
	dst = protowire.AppendVarint(dst, uint64(end-start))
	var length [10]byte // of a varint
	n := copy(length[:], dst[end:])
	copy(dst[start+n:], dst[start:end])
	copy(dst[start:], length[:n])
	return dst
}

func appendPair(dst []byte, num protowire.Number, first, second string) []byte {
	size := pairPartSize(first) + pairPartSize(second)
	dst = protowire.AppendTag(dst, num, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(size))
	dst = appendString(dst, pairFirst, first)
	return appendString(dst, pairSecond, second)
}

func pairPartSize(s string) int {
	if s == "" {
		return 0
	}
	return protowire.SizeTag(pairFirst) + protowire.SizeBytes(len(s))
}

// appendPairs appends m in no particular order, because tests compare decoded
// records, never bytes.
func appendPairs(dst []byte, num protowire.Number, m map[string]string) []byte {
	for k, v := range m {
		dst = appendPair(dst, num, k, v)
	}
	return dst
}
