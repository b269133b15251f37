package original

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// MarkFor is how long a cancel is remembered.
const MarkFor = 120 * time.Second

var (
	//go:embed add.lua
	addSource string
	//go:embed pop.lua
	popSource string
	//go:embed cancel.lua
	cancelSource string

	addScript    = rueidis.NewLuaScript(addSource)
	popScript    = rueidis.NewLuaScript(popSource)
	cancelScript = rueidis.NewLuaScript(cancelSource)
)

// Task is a request to send.
type Task struct {
	Key  string `json:"key"`
	URL  string `json:"url"`
	Body string `json:"body,omitempty"`
}

// Wheel is a node's view of the tasks in Redis. Its methods may be called by
// many goroutines.
type Wheel struct {
	client rueidis.Client
	call   func(context.Context, Task)
}

// New returns a Wheel. Its Run makes each call with call.
func New(client rueidis.Client, call func(context.Context, Task)) *Wheel {
	return &Wheel{client: client, call: call}
}

// Add makes t due in the second of due.
func (w *Wheel) Add(ctx context.Context, t Task, due time.Time) error {
	member, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("encode %s: %w", t.Key, err)
	}
	if err := addScript.Exec(ctx, w.client, keys(due), []string{second(due), string(member), t.Key}).Error(); err != nil {
		return fmt.Errorf("add %s: %w", t.Key, err)
	}
	return nil
}

// Cancel marks a key in the minute of due. It cannot know if there is such a
// task.
func (w *Wheel) Cancel(ctx context.Context, key string, due time.Time) error {
	args := []string{key, strconv.Itoa(int(MarkFor.Seconds()))}
	if err := cancelScript.Exec(ctx, w.client, keys(due)[1:], args).Error(); err != nil {
		return fmt.Errorf("cancel %s: %w", key, err)
	}
	return nil
}

// Pop takes the tasks of a second out of Redis, and returns those that are not
// marked.
func (w *Wheel) Pop(ctx context.Context, at time.Time) ([]Task, error) {
	reply, err := popScript.Exec(ctx, w.client, keys(at), []string{second(at)}).ToArray()
	if err != nil {
		return nil, fmt.Errorf("take the tasks of %v: %w", at, err)
	}
	members, err := reply[0].AsStrSlice()
	if err != nil {
		return nil, fmt.Errorf("read the tasks of %v: %w", at, err)
	}
	cancelled, err := reply[1].AsStrSlice()
	if err != nil {
		return nil, fmt.Errorf("read the cancelled tasks of %v: %w", at, err)
	}
	return wanted(members, cancelled)
}

func wanted(members, cancelled []string) ([]Task, error) {
	marked := make(map[string]bool, len(cancelled))
	for _, key := range cancelled {
		marked[key] = true
	}
	tasks := make([]Task, 0, len(members))
	for _, m := range members {
		var t Task
		if err := json.Unmarshal([]byte(m), &t); err != nil {
			return nil, fmt.Errorf("decode a task: %w", err)
		}
		if !marked[t.Key] {
			tasks = append(tasks, t)
		}
	}
	return tasks, nil
}

// keys returns the keys of the minute's tasks and of its cancelled tasks. They
// share a slot, as scripts need it.
func keys(at time.Time) []string {
	minute := strconv.FormatInt(at.Unix()/60, 10)
	return []string{"wheel:{" + minute + "}", "cancelled:{" + minute + "}"}
}

func second(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }
