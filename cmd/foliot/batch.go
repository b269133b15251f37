package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// importBatch collects lines for one request. Their text goes out as it stands
// in the file: decoding and encoding it again would cost more than all the rest.
type importBatch struct {
	numbers []int
	texts   [][]byte
	length  int   // of the texts and what is between them
	size    int64 // of the lines in the file, refused ones included
}

const (
	batchHead = `{"tasks":[`
	batchTail = `]}`
)

// full reports whether l has to wait for the next batch.
func (b *importBatch) full(l line, most int) bool {
	return len(b.numbers) >= most ||
		len(b.numbers) > 0 && len(batchHead)+b.length+len(l.text)+len(batchTail) > task.MaxBatchBytes
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
	b.numbers = append(b.numbers, l.number)
	b.texts = append(b.texts, l.text)
	b.length += len(l.text) + 1
	return ""
}

func (b *importBatch) body() []byte {
	return bytes.Join([][]byte{[]byte(batchHead), bytes.Join(b.texts, []byte{','}), []byte(batchTail)}, nil)
}

// lines names the batch in errors.
func (b *importBatch) lines() string {
	first, last := b.numbers[0], b.numbers[len(b.numbers)-1]
	if first == last {
		return fmt.Sprintf("line %d", first)
	}
	return fmt.Sprintf("lines %d to %d", first, last)
}

// halves splits a batch of more than one line.
func (b *importBatch) halves() [2]importBatch {
	n := len(b.numbers) / 2
	return [2]importBatch{
		{numbers: b.numbers[:n], texts: b.texts[:n]},
		{numbers: b.numbers[n:], texts: b.texts[n:], size: b.size},
	}
}

// wireProblem returns the problem of a batch's item.
func wireProblem(r wire.BatchResult) wire.Problem {
	return wire.Problem{Status: r.Status, Code: r.Code, Detail: r.Detail, Field: r.Field}
}
