// Package contender gives all compared libraries the same interface. Each
// library keeps timers durably for a Go program and calls a handler in that
// program.
package contender

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// workers is the maximum number of handlers of a library that run at once. It
// is the default of Foliot.
const workers = 128

// Task is one timer. Its arguments are stored with it.
type Task struct {
	I   int
	Due time.Time // a whole millisecond
}

// Name returns the name of the task with the number i.
func Name(i int) string { return "order-" + strconv.Itoa(i) }

// args are the stored arguments of a task, the same for all libraries.
type args struct {
	Name string `json:"name"`
	I    int    `json:"i"`
	Due  int64  `json:"due"` // in milliseconds since 1970
}

// Kind implements river.JobArgs.
func (args) Kind() string { return "order" }

func (t Task) args() args { return args{Name(t.I), t.I, t.Due.UnixMilli()} }

func (a args) task() Task { return Task{a.I, time.UnixMilli(a.Due)} }

// Handle is the handler of all tasks.
type Handle func(ctx context.Context, t Task) error

// Stores has the places where libraries can keep tasks. Each is empty at the
// start of a measurement.
type Stores struct {
	Dir      string // a directory
	Redis    string // host:port
	Postgres string // a URL

	PID int // the process of the server that is measured, or 0
}

// Running is an open library.
type Running struct {
	// Create creates one task.
	Create func(ctx context.Context, t Task) error
	// Batch creates tasks in one call. It is nil if the library has no such
	// call.
	Batch func(ctx context.Context, list []Task) error
	// Start starts the handlers. Stop stops them and waits.
	Start func(ctx context.Context) error
	Stop  func() error
	// Close closes the library, after Stop.
	Close func() error

	PID int // the process that runs the handlers for the library, or 0
}

// Info describes a contender.
type Info struct {
	Name  string
	Store string // Directory, Redis or Postgres
	Many  bool   // it has a call for many tasks
	// Tuned is false if another contender is the same library with better
	// settings. Then only the timing of this one is measured.
	Tuned bool

	// Need returns an error if the library is not installed.
	Need func() error

	open func(ctx context.Context, s Stores, h Handle) (*Running, error)
}

// The stores.
const (
	Directory = "directory"
	Redis     = "redis"
	Postgres  = "postgres"
)

// Ours reports whether it is Foliot.
func (i *Info) Ours() bool { return strings.HasPrefix(i.Name, "foliot") }

// Open opens the library on its empty store.
func (i *Info) Open(ctx context.Context, s Stores, h Handle) (*Running, error) {
	r, err := i.open(ctx, s, h)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", i.Name, err)
	}
	return r, nil
}

// All lists the contenders.
var All = []Info{
	{Name: "foliot-dir", Store: Directory, Many: true, Tuned: true, open: openFoliotDir},
	{Name: "foliot-redis", Store: Redis, Many: true, Tuned: true, open: openFoliotRedis},
	{Name: "foliot-pg", Store: Postgres, Many: true, Tuned: true, open: openFoliotPostgres},
	{Name: "asynq-fast", Store: Redis, Tuned: true, open: openAsynqFast},
	{Name: "asynq", Store: Redis, open: openAsynq},
	{Name: "river-pg-fast", Store: Postgres, Many: true, Tuned: true, open: openRiverPostgresFast},
	{Name: "river-pg", Store: Postgres, Many: true, open: openRiverPostgres},
	{Name: "graphile-fast", Store: Postgres, Many: true, Tuned: true, Need: needGraphile, open: openGraphileFast},
	{Name: "graphile", Store: Postgres, Many: true, Need: needGraphile, open: openGraphile},
	{Name: "river-sqlite-fast", Store: Directory, Many: true, Tuned: true, open: openRiverSQLiteFast},
}

// Find returns the description of a contender.
func Find(name string) (*Info, error) {
	i := slices.IndexFunc(All, func(x Info) bool { return x.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no contender %q", name)
	}
	return &All[i], nil
}
