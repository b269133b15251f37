// Package contender has the compared programs. Each keeps tasks in Redis and
// can call a URL at a given time.
package contender

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Work describes tasks to create. They are numbered from 0.
type Work struct {
	N     int
	First time.Time     // due time of the first task, a whole second
	Over  time.Duration // the due times are spread evenly over this time
	URL   string        // the task's number is appended to it
	Size  int           // bytes of each body
}

// Due returns the due time of a task, a whole millisecond.
func (w *Work) Due(i int) time.Time {
	return w.First.Add(w.Over * time.Duration(i) / time.Duration(w.N)).Truncate(time.Millisecond)
}

// Name returns a task's name.
func (w *Work) Name(i int) string { return "order-" + strconv.Itoa(i) }

// Target returns a task's URL.
func (w *Work) Target(i int) string { return w.URL + strconv.Itoa(i) }

// Body returns the body of a request: JSON of Size bytes.
func (w *Work) Body() string {
	const frame = `{"order":""}`
	return `{"order":"` + strings.Repeat("x", max(w.Size-len(frame), 0)) + `"}`
}

// Running is a started contender.
type Running struct {
	// Create creates the tasks with numbers from `from` to before `to`. It
	// makes one call if the contender has a call for many tasks, and otherwise
	// one call for each task. Many goroutines may call Create.
	Create func(ctx context.Context, w *Work, from, to int) error

	// PID is the id of the process that serves and delivers, or 0 if there is
	// only this process.
	PID int

	// Close stops everything that Open started.
	Close func() error
}

// Info describes a contender.
type Info struct {
	Name string
	Ours bool
	Many int // maximal number of tasks in one call

	open func(ctx context.Context, redis string, e *Environment) (*Running, error)
}

// Environment has the things that contenders need besides Redis.
type Environment struct {
	Foliot string // the binary
}

// Open starts a contender on a Redis. With deliver it calls the URLs of due
// tasks. Foliot's server always calls them.
func (i *Info) Open(ctx context.Context, redis string, deliver bool, e *Environment) (*Running, error) {
	r, err := i.open(ctx, redis, e)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", i.Name, err)
	}
	if !deliver || r.PID != 0 {
		return r, nil
	}
	pid, end, err := startNode(ctx, NodeConfig{Contender: i.Name, Redis: redis})
	if err != nil {
		_ = r.Close() // the first error is the cause
		return nil, fmt.Errorf("start %s: %w", i.Name, err)
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

// All lists the contenders.
var All = []Info{
	{"foliot", true, 1000, openFoliot},
	{"asynq", false, 1, openAsynq},
	{"asynq-fast", false, 1, openAsynq},
	{"original", false, 1, openOriginal},
}
