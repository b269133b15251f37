package sqltask

import (
	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/task"
)

// inlineBody is the largest body that is stored in a record. A larger one has a
// column of its own, so that a claim does not write it again.
const inlineBody = 1 << 10

// Record is a record as it was read or written.
type Record struct {
	Task   *task.Task // without its body; nil means that there is no record
	Stamp  int64      // valid if Task is not nil
	Inline []byte     // the body, if the record has it

	// If there are pending operations, Task is their result on the stored task. It has
	// its body if a put is among them.
	Pending []Operation
	Stored  *task.Task
}

// Current implements kernel.recorded.
func (r Record) Current() *task.Task { return r.Task }

// Written returns the task without pending operations.
func (r *Record) Written() *task.Task {
	if r.Pending != nil {
		return r.Stored
	}
	return r.Task
}

// Found is a record that was read.
type Found struct {
	Record
	Body []byte // if it was requested
	Err  error  // the record exists and cannot be read
}

// WithBody returns the task with its body, which was requested.
func (f *Found) WithBody() *task.Task {
	t := *f.Task
	t.Request.Body = f.Body
	return &t
}

// Decode decodes a record, nil if only pending operations have it. It moves the body out
// of it, and sets the end of its lease.
func (f *Found) Decode(key task.Key, data []byte, until *int64) {
	if data != nil {
		f.Task, f.Err = codec.DecodeRecord(key, data)
	}
	if f.Task == nil {
		return
	}
	f.Inline, f.Task.Request.Body = f.Task.Request.Body, nil
	if f.Inline != nil {
		f.Body = f.Inline
	}
	if until != nil && f.Task.Lease != nil {
		f.Task.Lease.Until = task.Millis(*until)
	}
}
