// Package contender gives all compared libraries the same interface. Each library
// keeps timers durably for a Go program and calls a handler in that program.
package contender

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/foliot/foliot/bench/record"
)

// workers is the maximum number of handlers of a library that run at once. It is
// the default of Foliot.
const workers = 128

// ErrExists means that the name of a new task is taken.
var ErrExists = errors.New("the name is taken")

// Task is one timer. Its arguments are stored with it.
type Task struct {
	I   int
	Due time.Time // a whole millisecond
}

// Name returns the name of the task with the number i.
func Name(i int) string { return "order-" + strconv.Itoa(i) }

// args are the stored arguments of a task, the same for all libraries.
type args struct {
	Name string `json:"name" river:"unique"`
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
	// Create creates one task. It returns ErrExists if the name is taken.
	Create func(ctx context.Context, t Task) error
	// Batch creates tasks in one call. It is nil if the library has no such
	// call.
	Batch func(ctx context.Context, list []Task) error
	// Move changes the due time of a waiting task. It is nil if the library has
	// no such call.
	Move func(ctx context.Context, t Task) error
	// Cancel cancels a task that waits. It reports whether the library promises
	// that the handler will not run.
	Cancel func(ctx context.Context, i int) (bool, error)
	// Start starts the handlers. Stop stops them and waits.
	Start func(ctx context.Context) error
	Stop  func() error
	// Close closes the library, after Stop.
	Close func() error
	// Clues lists the calls of the library that could move a task. For asynq and
	// River, timed finds these calls in the types of the library.
	Clues []string
}

// Info describes a contender.
type Info struct {
	record.Contender
	Many  string // the call for many tasks, or empty
	Store string // Directory, Redis or Postgres
	// Tuned is false if another contender is the same library with better
	// settings. Then only the timing of this one is measured.
	Tuned bool

	open func(ctx context.Context, s Stores, h Handle) (*Running, error)
}

// The stores.
const (
	Directory = "directory"
	Redis     = "redis"
	Postgres  = "postgres"
)

// Open opens the library on its empty store.
func (i *Info) Open(ctx context.Context, s Stores, h Handle) (*Running, error) {
	r, err := i.open(ctx, s, h)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", i.Name, err)
	}
	return r, nil
}

// All lists the contenders in the order of the tables.
var All = []Info{
	{Contender: record.Contender{Name: "foliot-dir", Title: "Foliot, directory", Ours: true}, Store: Directory, Tuned: true, open: openFoliotDir},
	{Contender: record.Contender{Name: "foliot-redis", Title: "Foliot, Redis", Ours: true}, Store: Redis, Tuned: true, open: openFoliotRedis},
	{Contender: record.Contender{Name: "asynq-fast", Title: "asynq, tuned"}, Store: Redis, Tuned: true, open: openAsynqFast},
	{Contender: record.Contender{Name: "asynq", Title: "asynq, defaults"}, Store: Redis, open: openAsynq},
	{Contender: record.Contender{Name: "river-pg-fast", Title: "River, PostgreSQL, tuned"}, Store: Postgres, Tuned: true, open: openRiverPostgresFast, Many: "InsertManyFast"},
	{Contender: record.Contender{Name: "river-pg", Title: "River, PostgreSQL, defaults"}, Store: Postgres, open: openRiverPostgres, Many: "InsertManyFast"},
	{Contender: record.Contender{Name: "river-sqlite-fast", Title: "River, SQLite, tuned"}, Store: Directory, Tuned: true, open: openRiverSQLiteFast, Many: "InsertManyFast"},
}
