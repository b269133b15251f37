package sqltask

import (
	"encoding/json"
	"math/rand/v2"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/task"
)

// Row is the input of a write: the record of a step, or of a task that a
// fire creates.
type Row struct {
	Parent           int32 // of a task that a fire creates: the number of the row of the fire; otherwise 0
	Key              string
	Shard            int16
	Old              *int64 // the stamp of the record that it replaces; nil: none
	Stamp            int64
	Lane, Look, Keep *int64
	Running          bool
	Relative         bool
	Record, Body     []byte // record: nil removes the record
	Ended, Idem      []byte
	Bodies, Lease    int16 // the changes of the body and of the lease
	Owner, Token     *string
	Earliest, Until  int64
	News             string
	Home             *string // of a new record: the field of its namespace's setting

	entry *task.Entry // see Entry
}

// Entry returns the entry that the row adds to a lane, nil for none.
func (r *Row) Entry() *task.Entry { return r.entry }

// The changes of the body and of the lease.
const (
	keep int16 = iota
	put
	drop
)

// News is the news of one record.
type News struct {
	Deltas []Delta     `json:"d,omitempty"`
	Entry  *task.Entry `json:"e,omitempty"`
	Key    string      `json:"p,omitempty"` // of a task with pending operations
}

// Delta is a difference of the counts of a queue.
type Delta struct {
	task.QueueKey
	task.Counts
}

// Of returns the row that replaces old by t, nil for no record, with a new stamp.
func Of(key task.Key, old *Record, t *task.Task, shards int) Row {
	r := Row{Key: Key(key), Shard: Shard(key, shards), Stamp: rand.Int64(), Bodies: drop}
	r.News, r.entry = newsOf(old.Written(), t)
	if old.Task != nil {
		r.Old = &old.Stamp
	} else if key.Namespace != task.DefaultNamespace {
		r.Home = new(settings.SettingKey{Kind: settings.NamespaceKind, Name: key.Namespace}.Field())
	}
	switch before, after := leaseOf(old.Written()), leaseOf(t); {
	case after != nil && (before == nil || before.Token != after.Token || before.Until != after.Until):
		r.Lease, r.Token, r.Until = put, new(string(after.Token)), int64(after.Until)
	case before != nil && after == nil:
		r.Lease = drop
	}
	if t == nil {
		return r
	}
	inline := InlineOf(old, t)
	r.Record, r.Running = codec.AppendBody(codec.AppendRecord(nil, t), inline), t.State == task.Running
	r.Relative = t.Relative
	switch {
	case t.Request.BodySize == 0 || inline != nil:
	case t.Request.Body != nil:
		r.Bodies, r.Body = put, t.Request.Body
	default:
		r.Bodies = keep
	}
	if t.State.Live() {
		r.Lane, r.Look = new(Lane(t.Lane())), new(int64(t.Due))
	} else {
		r.Ended, r.Keep = Ended(t.Namespace, t.State == task.Dead, t.EndedPlace()), new(int64(t.KeepUntil))
	}
	if t.Idempotency != nil {
		r.Idem = Idem(t.Namespace, t.Idempotency.Key)
	}
	return r
}

// InlineOf returns the body that the record of t has, if it replaces old. If t has a
// body and does not carry it, the body stays where it is.
func InlineOf(old *Record, t *task.Task) []byte {
	switch {
	case t == nil || t.Request.BodySize == 0:
		return nil
	case t.Request.Body == nil:
		return old.Inline
	case len(t.Request.Body) <= inlineBody:
		return t.Request.Body
	}
	return nil
}

func leaseOf(t *task.Task) *task.Lease {
	if t == nil {
		return nil
	}
	return t.Lease
}

// newsOf returns the news of a change, and their entry.
func newsOf(old, t *task.Task) (string, *task.Entry) {
	var n News
	kernel.EachDelta(old, t, func(q task.QueueKey, c task.Counts) {
		if c != (task.Counts{}) && !q.OfOccurrences() {
			n.Deltas = append(n.Deltas, Delta{q, c})
		}
	})
	if e, ok := task.Hint(old, t); ok {
		n.Entry = &e
	}
	if n.Deltas == nil && n.Entry == nil {
		return "", nil
	}
	text, _ := json.Marshal(n) // it can always be encoded
	return string(text), n.Entry
}
