// Command redis compares Foliot on Redis, asynq and the original design under
// the same load, and writes docs/redis-benchmarks.md. Run it from the root of
// the repository: make bench-redis.
package main

import (
	"github.com/foliot/foliot/bench/child"
	"github.com/foliot/foliot/bench/program"
	"github.com/foliot/foliot/bench/record"
	"github.com/foliot/foliot/bench/redis/contender"
)

var self = program.Program{
	Name:       "bench-redis",
	Results:    "redis.json",
	Page:       "redis-benchmarks.md",
	What:       "Compares programs that keep tasks in Redis and call URLs at given times, one after another. It needs redis-server and bin/foliot:",
	Took:       "6 minutes",
	Sources:    []string{"wheel", "internal", "client", "cmd", "bench/redis"},
	Modules:    []string{"github.com/hibiken/asynq", "github.com/redis/go-redis/v9", "github.com/redis/rueidis"},
	Contenders: record.Contenders(contender.All),
	Parts:      []string{create, late, drain, idle},
	Measure:    measureAll,
	Template:   template,
	Columns:    columns,
}

func main() {
	serve()
	self.Main()
}

// serve delivers in a child process.
func serve() { child.Main(map[string]any{contender.Role: new(contender.Node)}) }
