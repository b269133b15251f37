package harness

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// Schedule creates tasks in batches, and logs that they were accepted.
func (e *Environment) Schedule(ctx context.Context, count int, prefix string, due func(i int) time.Time) []string {
	return e.ScheduleIn(ctx, "", count, prefix, due)
}

// ScheduleIn is Schedule for tasks of a queue.
func (e *Environment) ScheduleIn(ctx context.Context, queue string, count int, prefix string, due func(i int) time.Time) []string {
	names := make([]string, count)
	tasks := make([]wire.TaskInput, count)
	dues := make([]time.Time, count)
	for i := range count {
		names[i], dues[i] = fmt.Sprintf("%s-%d", prefix, i), due(i).Truncate(time.Millisecond)
		tasks[i] = Task(names[i], e.Receiver.URL(), dues[i])
		tasks[i].Queue = queue
	}
	Check(e.Client.CreateAll(ctx, tasks))
	for i, name := range names {
		Check(e.Promised(name, dues[i]))
	}
	return names
}

// RandomString returns a JSON string of n characters that cannot be compressed
// to less than half of its size. The same seed gives the same string.
func RandomString(seed, n int) json.RawMessage {
	random := rand.New(rand.NewPCG(uint64(seed), 0)) //nolint:gosec // nothing is secret
	data := make([]byte, n/2)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	return json.RawMessage(`"` + hex.EncodeToString(data) + `"`)
}
