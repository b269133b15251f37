package main

import (
	"encoding/json"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// importBatch collects lines for one request. Their text goes out as it stands
// in the file: decoding and encoding it again would cost more than all the rest.
type importBatch struct {
	numbers []int
	joined  []byte
	size    int64 // of the lines in the file, refused ones included
}

const (
	batchHead = `{"tasks":[`
	batchTail = `]}`
)

// full reports whether l has to wait for the next batch.
func (b *importBatch) full(l line, most int) bool {
	return len(b.numbers) >= most ||
		len(batchHead)+len(b.joined)+len(l.text)+len(batchTail)+1 > task.MaxBatchBytes && len(b.numbers) > 0
}

// add takes l in, or returns why it cannot be a task. What is inside of the
// object is for the server to judge; a line that is none would spoil the batch.
func (b *importBatch) add(l line) (reason string) {
	b.size += l.size
	switch {
	case l.err != nil:
		return l.err.Error()
	case l.text[0] != '{' || !json.Valid(l.text):
		return "the line is no JSON object"
	}
	if len(b.numbers) > 0 {
		b.joined = append(b.joined, ',')
	}
	b.joined = append(b.joined, l.text...)
	b.numbers = append(b.numbers, l.number)
	return ""
}

func (b *importBatch) body() []byte {
	body := make([]byte, 0, len(batchHead)+len(b.joined)+len(batchTail))
	body = append(body, batchHead...)
	body = append(body, b.joined...)
	return append(body, batchTail...)
}

// wireProblem returns the problem of a batch's item.
func wireProblem(r wire.BatchResult) wire.Problem {
	return wire.Problem{Status: r.Status, Code: r.Code, Detail: r.Detail, Field: r.Field}
}
