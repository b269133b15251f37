// Package contender is what is compared: ways to have a URL called at a time, with the tasks in Redis.
package contender

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Work is tasks to be created, numbered from 0.
type Work struct {
	N     int
	First time.Time     // when the first is due, a whole second
	Over  time.Duration // they are due evenly over this long
	URL   string        // what is called, with the number after it
	Size  int           // bytes of each body
}

// Due returns when a task is due, a whole millisecond.
func (w *Work) Due(i int) time.Time {
	return w.First.Add(w.Over * time.Duration(i) / time.Duration(w.N)).Truncate(time.Millisecond)
}

// Name returns a task's name.
func (w *Work) Name(i int) string { return "order-" + strconv.Itoa(i) }

// Target returns a task's URL.
func (w *Work) Target(i int) string { return w.URL + strconv.Itoa(i) }

// Body returns what is sent: JSON, of Size bytes.
func (w *Work) Body() string {
	const frame = `{"order":""}`
	return `{"order":"` + strings.Repeat("x", max(w.Size-len(frame), 0)) + `"}`
}

// Running is a contender that has begun.
type Running struct {
	// Create makes tasks, from the first number up to before the last: in one call where the contender has one for many, and
	// otherwise one after the other. It may be called by many goroutines.
	Create func(ctx context.Context, w *Work, from, to int) error

	// PID is of the process that serves and delivers, 0 if there is none but this one.
	PID int

	// Close ends all that was begun.
	Close func() error
}

// Info is a contender.
type Info struct {
	Name  string // in flags and results
	Title string // in tables
	What  string // how it works, for the page
	Ours  bool
	Many  int  // how many tasks one call may create
	Calls bool // it delivers too

	open func(ctx context.Context, redis string, e *Environment) (*Running, error)
}

// Environment is what contenders need beside Redis.
type Environment struct {
	Foliot string // the binary
}

// Open begins a contender on a Redis. With deliver it calls the URLs of what is due; Foliot's server always does.
func (i *Info) Open(ctx context.Context, redis string, deliver bool, e *Environment) (*Running, error) {
	r, err := i.open(ctx, redis, e)
	if err != nil {
		return nil, fmt.Errorf("begin %s: %w", i.Name, err)
	}
	if !deliver || r.PID != 0 {
		return r, nil
	}
	pid, end, err := startNode(ctx, NodeConfig{Contender: i.Name, Redis: redis})
	if err != nil {
		_ = r.Close() // the first error is the cause
		return nil, fmt.Errorf("begin %s: %w", i.Name, err)
	}
	closed := r.Close
	r.PID, r.Close = pid, func() error {
		err := end()
		if e := closed(); err == nil {
			err = e
		}
		return err
	}
	return r, nil
}

// All is who is compared, in the order of the tables.
var All = []Info{
	{
		Name: "foliot", Title: "Foliot", Ours: true, Many: 1000, Calls: true, open: openFoliot,
		What: "`foliot serve --store redis://…` with default settings: tasks are created by its HTTP API",
	},
	{
		Name: "foliot-store", Title: "Foliot, its store alone", Ours: true, Many: 100, open: openStore,
		What: "the same store, called in the creating process: the difference is the cost of HTTP and JSON",
	},
	{
		Name: "foliot-no-audit", Title: "Foliot's store without audit log", Ours: true, Many: 100, open: openStoreWithoutAudit,
		What: "the same, with `AuditKeep` below zero",
	},
	{
		Name: "asynq", Title: "asynq", Many: 1, Calls: true, open: openAsynq,
		What: "hibiken/asynq with `ProcessAt`, 256 handlers at a time, and otherwise default settings: it looks for due tasks every 5 s, and for pending tasks every second",
	},
	{
		Name: "asynq-fast", Title: "asynq, 100 ms", Many: 1, Calls: true, open: openAsynq,
		What: "the same, with `DelayedTaskCheckInterval` 100 ms and `TaskCheckInterval` 10 ms. Smaller ones gain little: its due times are whole seconds",
	},
	{
		Name: "original", Title: "the original design", Many: 1, Calls: true, open: openOriginal,
		What: "a sorted set for each minute, and a scanner that takes each second's tasks ([original.md](original.md)); its ticks are at whole seconds",
	},
}

// Find returns the contender of a name.
func Find(name string) (*Info, error) {
	for i := range All {
		if All[i].Name == name {
			return &All[i], nil
		}
	}
	return nil, fmt.Errorf("there is no contender %q", name)
}
