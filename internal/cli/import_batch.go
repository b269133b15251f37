package cli

import (
	"encoding/json"
	"fmt"

	"github.com/foliot/foliot/internal/task"
)

// importBatch collects lines for one request. Their text goes out as it stands
// in the file: decoding and encoding it again would cost more than all the rest.
type importBatch struct {
	numbers []int
	texts   []json.RawMessage
	length  int   // of the texts and what is between them
	size    int64 // of the lines in the file, refused ones included

	schedule *scheduleLine // of the one line that there is; nil: the lines are tasks
}

// batchFrame is what a request has beside the texts.
const batchFrame = len(`{"tasks":[]}`)

// full reports whether l has to wait for the next batch: each is one request.
func (b *importBatch) full(l line, most int) bool {
	return len(b.numbers) >= most || len(b.numbers) > 0 && batchFrame+b.length+len(l.text) > task.MaxBatchBytes
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
