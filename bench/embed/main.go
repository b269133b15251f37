// Command embed compares libraries that keep timers durably for a Go program,
// and writes docs/embed-benchmarks.md. Run it from the root of the repository:
// make bench-embed.
package main

import (
	"github.com/foliot/foliot/bench/child"
	"github.com/foliot/foliot/bench/embed/contender"
	"github.com/foliot/foliot/bench/embed/trial"
	"github.com/foliot/foliot/bench/program"
	"github.com/foliot/foliot/bench/record"
)

var self = program.Program{
	Name:    "bench-embed",
	Results: "embed.json",
	Page:    "embed-benchmarks.md",
	What: `Compares libraries that keep timers durably for a Go program, one after another. It starts its own redis-server and PostgreSQL on
loopback, and stops them at the end. If a server is not installed, it omits the libraries that need that server:`,
	Took:    "25 minutes",
	Sources: []string{"*.go", "dir", "redis", "wheel", "internal", "client", "bench/embed"},
	Modules: []string{
		"github.com/hibiken/asynq", "github.com/redis/go-redis/v9", "github.com/redis/rueidis", "github.com/cockroachdb/pebble/v2",
		"github.com/riverqueue/river", "github.com/riverqueue/river/riverdriver/riverpgxv5", "github.com/riverqueue/river/riverdriver/riversqlite",
		"github.com/jackc/pgx/v5", "modernc.org/sqlite",
	},
	Contenders: record.Contenders(contender.All),
	Parts:      []string{trial.Create, trial.Batch, trial.Standing, trial.Handle, trial.Late, trial.Soon, trial.Idle, trial.Facts, trial.Plant, trial.Hold},
	Measure:    measureAll,
	Template:   template,
	Columns:    columns,
}

func main() {
	serve()
	self.Main()
}

// serve measures in a child process.
func serve() { child.Main(map[string]any{trial.Role: new(trial.Node)}) }
