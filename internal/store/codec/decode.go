package codec

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/foliot/foliot/internal/task"
)

// field is one field of a record, still encoded: num decides if bytes or number
// has the value.
type field struct {
	num    protowire.Number
	bytes  []byte
	copy   string // the same bytes, or ""
	number uint64
}

func (f field) text() string {
	if f.copy != "" {
		return f.copy
	}
	return string(f.bytes)
}

func (f field) int() int                { return int(protowire.DecodeZigZag(f.number)) }
func (f field) millis() task.Millis     { return task.Millis(protowire.DecodeZigZag(f.number)) }
func (f field) duration() time.Duration { return time.Duration(protowire.DecodeZigZag(f.number)) }
func (f field) bool() bool              { return protowire.DecodeBool(f.number) }

// nextField splits the first field off src, which is not empty.
func nextField(src []byte) (field, []byte, error) {
	num, typ, n := protowire.ConsumeTag(src)
	if n < 0 {
		return field{}, nil, fmt.Errorf("tag: %w: %w", ErrDamaged, protowire.ParseError(n))
	}
	src = src[n:]
	f := field{num: num}
	switch typ {
	case protowire.VarintType:
		f.number, n = protowire.ConsumeVarint(src)
	case protowire.BytesType:
		f.bytes, n = protowire.ConsumeBytes(src)
	default: // an unknown number
		n = protowire.ConsumeFieldValue(num, typ, src)
	}
	if n < 0 {
		return field{}, nil, fmt.Errorf("field %d: %w: %w", num, ErrDamaged, protowire.ParseError(n))
	}
	return f, src[n:], nil
}

// eachField calls use for each field of src. If same is a copy of src, and not
// "", all texts are parts of it: one allocation instead of one for each.
func eachField(src []byte, same string, use func(field) error) error {
	for len(src) > 0 {
		f, rest, err := nextField(src)
		if err != nil {
			return err
		}
		if same != "" {
			end := len(same) - len(rest) // of the field
			f.copy, same = same[end-len(f.bytes):end], same[end:]
		}
		if err := use(f); err != nil {
			return err
		}
		src = rest
	}
	return nil
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

// MatchRecord reports whether the record src of the task with that name matches
// f, as f.Match would. It decodes only the fields that f can test, for a small
// part of the cost of DecodeRecord.
func MatchRecord(src []byte, namespace string, name []byte, f *task.Filter) (bool, error) {
	src, err := Unwrap(src)
	if err != nil {
		return false, err
	}
	t, last := task.Task{Namespace: namespace}, lastFieldOf(f)
	if f.NeedsName() {
		t.Name = string(name)
	}
	h := readHead(src, name)
	if h.damaged {
		return false, errHead
	}
	h.setTimes(&t)
	if h.flags&usualQueue != 0 {
		if f.Queue != "" && f.Queue != theQueue {
			return false, nil
		}
		t.Queue = theQueue
	}
	if h.flags&isScheduled != 0 {
		t.State = task.Scheduled
	}
	for src = h.src; len(src) > 0; {
		got, rest, err := nextField(src)
		if err != nil {
			return false, err
		}
		if got.num > last {
			break
		}
		switch {
		case got.num > lastFilterNum && got.num != fieldCreatedAt && got.num != fieldOriginalDue && got.num != fieldReason && got.num != fieldFinishedAt && got.num != fieldQueuedAt:
		case got.num == fieldQueue:
			if schedule := string(got.bytes) == task.ScheduleQueue; string(got.bytes) != f.Queue && (f.Queue != "" || schedule) {
				return false, nil
			}
			t.Queue = f.Queue // avoids the allocation of a conversion
		case got.num == fieldLabel && len(f.Labels) == 0:
		default:
			if err := setField(&t, got); err != nil {
				return false, err
			}
		}
		src = rest
	}
	h.setDue(&t)
	return f.Match(&t), nil
}

// lastFieldOf returns the last field that f can test.
func lastFieldOf(f *task.Filter) protowire.Number {
	switch {
	case f.EnteredBefore != 0:
		return fieldQueuedAt
	case f.EndedAfter != 0:
		return fieldFinishedAt
	case f.Reason != "":
		return fieldReason
	case f.DueBefore != 0, f.DueAfter != 0:
		return fieldOriginalDue
	}
	return lastFilterNum
}

// checked returns t, which was decoded with the error err, unless its state is
// impossible.
func checked(t *task.Task, err error) (*task.Task, error) {
	if err == nil && (!t.State.Valid() || (t.State == task.Running) != (t.Lease != nil)) {
		err = fmt.Errorf("state %d: %w", t.State, ErrDamaged)
	}
	if err != nil {
		return nil, fmt.Errorf("record of task %q in namespace %q: %w", t.Name, t.Namespace, err)
	}
	return t, nil
}

func attemptField(a *task.Attempt) func(field) error {
	return func(f field) error {
		switch f.num {
		case attemptNumber:
			a.Number = f.int()
		case attemptStartedAt:
			a.StartedAt = f.millis()
		case attemptStatus:
			a.Status = f.int()
		case attemptError:
			a.Error = f.text()
		case attemptLatency:
			a.Latency = f.duration()
		case attemptLate:
			a.Late = f.duration()
		case attemptReply:
			a.Reply = f.text()
		case attemptDetail:
			a.Detail = f.text()
		case attemptWaited:
			a.Waited = f.duration()
		}
		return nil
	}
}

func leaseField(l *task.Lease) func(field) error {
	return func(f field) error {
		switch f.num {
		case leaseToken:
			l.Token = task.Token(f.text())
		case leaseSince:
			l.Since = f.millis()
		case leaseUntil:
			l.Until = f.millis()
		case leaseTaskID:
			l.TaskID = f.text()
		case leaseTimeout:
			l.Timeout = f.duration()
		case leaseHolder:
			l.Holder = f.text()
		}
		return nil
	}
}

func setPair(m *map[string]string, f field) error {
	k, v, err := pair(f)
	if *m == nil {
		*m = make(map[string]string)
	}
	(*m)[k] = v
	return err
}

func pair(f field) (first, second string, err error) {
	err = eachField(f.bytes, f.copy, func(f field) error {
		switch f.num {
		case pairFirst:
			first = f.text()
		case pairSecond:
			second = f.text()
		}
		return nil
	})
	return first, second, err
}
