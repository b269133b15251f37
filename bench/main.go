// Command bench compares Foliot with package time, go-zero's TimingWheel and
// four textbook designs, and writes docs/benchmarks.md. Run it from the root of
// the repository: make bench.
package main

import (
	"context"
	"io"
	"time"

	"github.com/foliot/foliot/bench/child"
	"github.com/foliot/foliot/bench/measure"
	"github.com/foliot/foliot/bench/peer"
	"github.com/foliot/foliot/bench/program"
	"github.com/foliot/foliot/bench/record"
)

var self = program.Program{
	Name:       "bench",
	Results:    "wheel.json",
	Page:       "benchmarks.md",
	What:       "Compares timers. Each measurement runs in a process of its own:",
	Took:       "15 minutes",
	Sources:    []string{"wheel", "bench"},
	Modules:    []string{"github.com/zeromicro/go-zero"},
	Contenders: peer.All,
	Parts:      []string{measure.Accuracy, measure.AddRemove, measure.Heartbeat, measure.Replace, measure.Standing, measure.Million},
	Measure:    measureAll,
	Template:   template,
	Columns:    columns,
}

func main() {
	serve()
	self.Main()
}

// serve measures in a child process, so that memory and goroutines of one job do
// not affect the next.
func serve() { child.Main(map[string]any{"meter": new(measure.Meter)}) }

// tooLong is the time limit of a job.
const tooLong = 3 * time.Minute

func measureAll(ctx context.Context, s *program.Settings, r *record.Run, out io.Writer) error {
	return program.Steps(ctx, r, out, plan(s), tooLong, expected, func(ctx context.Context, j *record.Job) (o record.Outcome, err error) {
		return o, child.Ask(ctx, "meter", "Measure", j, &o.Values)
	})
}
