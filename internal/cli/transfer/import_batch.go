package transfer

import (
	"encoding/json"
	"fmt"

	"github.com/foliot/foliot/internal/task"
)

// importBatch collects lines for one request. Their text is sent unchanged,
// because decoding and encoding it would cost more than all other work.
type importBatch struct {
	numbers []int
	texts   []json.RawMessage
	length  int   // of the texts with their separators
	size    int64 // of the lines in the file, including refused ones

	schedule *ScheduleLine // the only line; nil if the lines are tasks
}

// batchFrame is the length of a request without the texts.
const batchFrame = len(`{"tasks":[]}`)

// full reports whether l has no room in the batch, because of the number or the
// size of its lines.
func (b *importBatch) full(l line, most int) bool {
	return len(b.numbers) >= most || len(b.numbers) > 0 && batchFrame+b.length+len(l.text) > task.MaxBatchBytes
}

// add adds l, or returns why l cannot be a task. The server checks the fields
// of the object. A line that is not an object would make the whole batch
// invalid.
func (b *importBatch) add(l line) (reason string) {
	b.size += l.size
	switch {
	case l.err != nil:
		return l.err.Error()
	case l.text[0] != '{':
		return "the line is not a JSON object"
	}
	if !json.Valid(l.text) {
		var object json.RawMessage
		return "the line is not a JSON object: " + json.Unmarshal(l.text, &object).Error()
	}
	b.numbers = append(b.numbers, l.number)
	b.texts = append(b.texts, l.text)
	b.length += len(l.text) + 1
	return ""
}

// lines returns the line numbers of the batch, for errors.
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
