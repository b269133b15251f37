// Command idle loads package idle and the usual ways to find idle connections
// in the same way, and writes docs/idle-benchmarks.md. Run it from the root of
// the repository: make bench-idle.
package main

import (
	"github.com/foliot/foliot/bench/child"
	"github.com/foliot/foliot/bench/idle/activity"
	"github.com/foliot/foliot/bench/idle/client"
	"github.com/foliot/foliot/bench/idle/guard"
	"github.com/foliot/foliot/bench/idle/server"
	"github.com/foliot/foliot/bench/program"
	"github.com/foliot/foliot/bench/record"
)

var self = program.Program{
	Name:       "bench-idle",
	Results:    "idle.json",
	Page:       "idle-benchmarks.md",
	What:       "Loads ways to close idle connections, one after another, with as many connections as the machine allows:",
	Took:       "10 minutes",
	Sources:    []string{"wheel", "idle", "bench/idle"},
	Contenders: record.Contenders(guard.All),
	Parts:      []string{partSockets, partUse},
	Measure:    measureAll,
	Template:   template,
	Columns:    columns,
	Extra:      extra,
}

// The parts of a run. The results of partUse have those of package activity.
const (
	partSockets = "sockets"
	partUse     = "use"
)

func main() {
	serve()
	self.Main()
}

// serve has a part of the load in a child process.
func serve() {
	child.Main(map[string]any{"server": new(server.Server), "client": new(client.Client), "meter": new(activity.Meter)})
}
