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
	length  int // of the texts with their separators

	schedule *ScheduleLine // the only line; nil if the lines are tasks
}

// batchFrame is the length of a request without the texts.
const batchFrame = len(`{"tasks":[]}`)

func (b *importBatch) full(length, most int) bool {
	return len(b.numbers) >= most || len(b.numbers) > 0 && batchFrame+b.length+length > task.MaxBatchBytes
}

// add adds a line, or returns why it cannot be a task. The server checks the
// fields of the object. A line that is not an object would make the whole batch
// invalid.
func (b *importBatch) add(number int, text []byte) (reason string) {
	if text[0] != '{' {
		return "the line is not a JSON object"
	}
	if !json.Valid(text) {
		var object json.RawMessage
		return "the line is not a JSON object: " + json.Unmarshal(text, &object).Error()
	}
	b.numbers = append(b.numbers, number)
	b.texts = append(b.texts, text)
	b.length += len(text) + 1
	return ""
}

func (b *importBatch) lines() string {
	first, last := b.numbers[0], b.numbers[len(b.numbers)-1]
	if first == last {
		return fmt.Sprintf("line %d", first)
	}
	return fmt.Sprintf("lines %d to %d", first, last)
}
