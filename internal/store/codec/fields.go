package codec

import (
	"bytes"

	"github.com/foliot/foliot/internal/task"
)

// A record is Format, a head (head.go), and then fields in Protocol Buffers' wire
// format, each with its number. A field that has its zero value, or that the head
// states, is left out, and numbers are never reused.
//
// Fields come in ascending order, and the fields that List mostly filters by
// come first: a page examines 10,000 records and decodes only those that it
// returns.
const (
	fieldState    = 1
	fieldDue      = 2
	fieldQueue    = 3
	fieldLabel    = 4 // repeated: key, value
	lastFilterNum = fieldLabel

	fieldPriority    = 5
	fieldID          = 6
	fieldVersion     = 7
	fieldDestination = 8
	fieldURL         = 9
	fieldMethod      = 10
	fieldBodyKind    = 11
	fieldBodySize    = 12
	fieldCreatedAt   = 13
	fieldOriginalDue = 14
	fieldTimeout     = 15
	fieldMinBackoff  = 16
	fieldMaxBackoff  = 17
	fieldMaxAge      = 18
	fieldMaxAttempts = 19
	fieldExpireAfter = 20
	fieldRelative    = 21
	fieldDelay       = 22
	fieldHeader      = 23 // repeated: name, value

	fieldUrgent          = 24
	fieldTries           = 25
	fieldSpent           = 26
	fieldReclaims        = 27
	fieldFirstAttemptAt  = 28
	fieldAttempt         = 29 // repeated: the fields below
	fieldReason          = 30
	fieldLease           = 31 // the fields below
	fieldCancelRequested = 32
	fieldZombieUntil     = 33
	fieldFinishedAt      = 34
	fieldKeepUntil       = 35
	fieldIdempotency     = 36 // key, fingerprint
	fieldOnDead          = 37
	fieldTrace           = 38
	fieldAwaited         = 39
	fieldRecur           = 40 // of a schedule: the fields in recur.go
	fieldWhole           = 41
	fieldReplaced        = 42 // repeated: key, fingerprint
	fieldAged            = 46
	fieldBody            = 47 // only if the store keeps the body in the record
	fieldKind            = 48 // before fieldBody; the destination follows from it
	fieldCreatedBy       = 49 // see appendToken
	fieldChangedBy       = 50
	fieldChangedAt       = 51
	fieldChangedAction   = 52 // a number of actions, or a text
	fieldQueuedAt        = 53 // before fieldBody
)

// appendFields appends the fields of t that differ from zero.
func appendFields(dst []byte, t *task.Task) []byte {
	dst = appendUint(dst, fieldState, uint64(t.State))
	dst = appendInt(dst, fieldDue, int64(t.Due))
	dst = appendString(dst, fieldQueue, t.Queue)
	dst = appendPairs(dst, fieldLabel, t.Labels)

	dst = appendUint(dst, fieldPriority, uint64(t.Priority))
	dst = appendString(dst, fieldID, t.ID)
	dst = appendUint(dst, fieldVersion, t.Version)
	if t.Request.Kind == "" {
		dst = appendString(dst, fieldDestination, t.Request.Destination)
	}
	dst = appendString(dst, fieldURL, t.Request.URL)
	dst = appendString(dst, fieldMethod, t.Request.Method)
	dst = appendUint(dst, fieldBodyKind, uint64(t.Request.BodyKind))
	dst = appendUint(dst, fieldBodySize, uint64(t.Request.BodySize))
	dst = appendInt(dst, fieldCreatedAt, int64(t.CreatedAt))
	dst = appendInt(dst, fieldOriginalDue, int64(t.OriginalDue))
	dst = appendDuration(dst, fieldTimeout, t.Timeout)
	dst = appendDuration(dst, fieldMinBackoff, t.Retry.MinBackoff)
	dst = appendDuration(dst, fieldMaxBackoff, t.Retry.MaxBackoff)
	dst = appendDuration(dst, fieldMaxAge, t.Retry.MaxAge)
	dst = appendInt(dst, fieldMaxAttempts, int64(t.Retry.MaxAttempts))
	dst = appendDuration(dst, fieldExpireAfter, t.ExpireAfter)
	dst = appendBool(dst, fieldRelative, t.Relative)
	dst = appendDuration(dst, fieldDelay, t.Delay)
	dst = appendPairs(dst, fieldHeader, t.Request.Headers)
	return appendLife(dst, t)
}

// appendLife appends the fields that t's life has added to the client's
// request.
func appendLife(dst []byte, t *task.Task) []byte {
	dst = appendBool(dst, fieldUrgent, t.RunNow)
	dst = appendInt(dst, fieldTries, int64(t.Attempts))
	dst = appendInt(dst, fieldSpent, int64(t.AttemptsUsed))
	dst = appendInt(dst, fieldReclaims, int64(t.Reclaims))
	dst = appendInt(dst, fieldFirstAttemptAt, int64(t.FirstAttemptAt))
	for i := range t.History {
		dst = appendMessage(dst, fieldAttempt, func(dst []byte) []byte { return appendAttempt(dst, &t.History[i]) })
	}
	dst = appendString(dst, fieldReason, t.Reason)
	if l := t.Lease; l != nil {
		dst = appendMessage(dst, fieldLease, func(dst []byte) []byte { return appendLease(dst, l) })
	}
	dst = appendBool(dst, fieldCancelRequested, t.CancelRequested)
	dst = appendInt(dst, fieldZombieUntil, int64(t.MaybeSendingUntil))
	dst = appendInt(dst, fieldFinishedAt, int64(t.FinishedAt))
	dst = appendInt(dst, fieldKeepUntil, int64(t.KeepUntil))
	if i := t.Idempotency; i != nil {
		dst = appendPair(dst, fieldIdempotency, i.Key, i.Fingerprint)
	}
	dst = appendString(dst, fieldOnDead, t.OnDead)
	dst = appendString(dst, fieldTrace, t.Trace)
	dst = appendBool(dst, fieldAwaited, t.NotifySchedule)
	if r := t.Recur; r != nil {
		dst = appendMessage(dst, fieldRecur, func(dst []byte) []byte { return appendRecur(dst, r) })
	}
	dst = appendBool(dst, fieldWhole, t.Whole)
	for _, i := range t.Replaced {
		dst = appendPair(dst, fieldReplaced, i.Key, i.Fingerprint)
	}
	dst = appendDuration(dst, fieldAged, t.Aged)
	dst = appendString(dst, fieldKind, t.Request.Kind)
	return appendInt(appendAuthors(dst, t), fieldQueuedAt, int64(t.QueuedAt))
}

// setField sets the field of t that f holds, but ignores unknown numbers, so a
// new field that other code may ignore needs no new format.
func setField(t *task.Task, f field) error {
	switch f.num {
	case fieldState:
		t.State = task.State(f.number)
	case fieldDue:
		t.Due = f.millis()
	case fieldQueue:
		t.Queue = string(f.bytes) // lanes outlive their tasks, so it must not keep the whole record
	case fieldLabel:
		return setPair(&t.Labels, f)
	case fieldPriority:
		t.Priority = task.Priority(f.number)
	case fieldID:
		t.ID = f.text()
	case fieldVersion:
		t.Version = f.number
	case fieldDestination:
		t.Request.Destination = string(f.bytes)
	case fieldURL:
		t.Request.URL = f.text()
	case fieldMethod:
		t.Request.Method = f.text()
	case fieldBodyKind:
		t.Request.BodyKind = task.BodyKind(f.number)
	case fieldBodySize:
		t.Request.BodySize = int(f.number)
	case fieldCreatedAt:
		t.CreatedAt = f.millis()
	case fieldQueuedAt:
		t.QueuedAt = f.millis()
	case fieldOriginalDue:
		t.OriginalDue = f.millis()
	case fieldTimeout:
		t.Timeout = f.duration()
	case fieldMinBackoff:
		t.Retry.MinBackoff = f.duration()
	case fieldMaxBackoff:
		t.Retry.MaxBackoff = f.duration()
	case fieldMaxAge:
		t.Retry.MaxAge = f.duration()
	case fieldMaxAttempts:
		t.Retry.MaxAttempts = f.int()
	case fieldExpireAfter:
		t.ExpireAfter = f.duration()
	case fieldRelative:
		t.Relative = f.bool()
	case fieldDelay:
		t.Delay = f.duration()
	case fieldHeader:
		return setPair(&t.Request.Headers, f)
	default:
		return setLifeField(t, f)
	}
	return nil
}

func setLifeField(t *task.Task, f field) error {
	switch f.num {
	case fieldUrgent:
		t.RunNow = f.bool()
	case fieldTries:
		t.Attempts = f.int()
	case fieldSpent:
		t.AttemptsUsed = f.int()
	case fieldReclaims:
		t.Reclaims = f.int()
	case fieldFirstAttemptAt:
		t.FirstAttemptAt = f.millis()
	case fieldAttempt:
		var a task.Attempt
		err := eachField(f.bytes, f.copy, attemptField(&a))
		t.History = append(t.History, a)
		return err
	case fieldReason:
		t.Reason = f.text()
	case fieldLease:
		t.Lease = &task.Lease{}
		return eachField(f.bytes, f.copy, leaseField(t.Lease))
	case fieldCancelRequested:
		t.CancelRequested = f.bool()
	case fieldZombieUntil:
		t.MaybeSendingUntil = f.millis()
	case fieldFinishedAt:
		t.FinishedAt = f.millis()
	case fieldKeepUntil:
		t.KeepUntil = f.millis()
	case fieldIdempotency:
		key, fingerprint, err := pair(f)
		t.Idempotency = &task.Idempotency{Key: key, Fingerprint: fingerprint}
		return err
	case fieldReplaced:
		key, fingerprint, err := pair(f)
		t.Replaced = append(t.Replaced, task.Idempotency{Key: key, Fingerprint: fingerprint})
		return err
	case fieldOnDead:
		t.OnDead = f.text()
	case fieldTrace:
		t.Trace = f.text()
	case fieldAwaited:
		t.NotifySchedule = f.bool()
	case fieldWhole:
		t.Whole = f.bool()
	case fieldRecur:
		t.Recur = &task.Recurrence{}
		return eachField(f.bytes, f.copy, recurField(t.Recur))
	case fieldAged:
		t.Aged = f.duration()
	case fieldKind:
		t.Request.Kind = string(f.bytes) // lanes outlive their tasks
		if t.Recur == nil {              // a schedule has no destination
			t.Request.Destination = task.KindDestination(t.Request.Kind)
		}
	case fieldBody:
		t.Request.Body = bytes.Clone(f.bytes)
	default:
		setAuthors(t, f)
	}
	return nil
}
