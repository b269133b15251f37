package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/foliot/foliot/bench/child"
	"github.com/foliot/foliot/bench/idle/activity"
	"github.com/foliot/foliot/bench/idle/guard"
	"github.com/foliot/foliot/bench/idle/load"
	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/program"
	"github.com/foliot/foliot/bench/record"
)

// tooLong is the time limit of a job.
const tooLong = 5 * time.Minute

// plan lists the measurements that run one after another, and returns the shape
// of the load on sockets.
func plan(s *program.Settings) (jobs []record.Job, shape load.Shape, err error) {
	if s.Wants(partSockets) {
		if shape = load.Quick(1000); !s.Quick {
			shape, err = load.Full()
		}
		guards := s.Contenders
		if len(guards) > 1 && slices.Contains(guards, guard.None) {
			guards = append(slices.Clone(guards), guard.None) // the difference between the two is noise
		}
		for _, name := range guards {
			jobs = append(jobs, record.Job{Part: partSockets, Contender: name, N: shape.Connections})
		}
	}
	return jobs, shape, err
}

func measureAll(ctx context.Context, s *program.Settings, r *record.Run, out io.Writer) error {
	jobs, shape, err := plan(s)
	if err != nil {
		return err
	}
	r.Notes["connections"], r.Notes["bound"] = page.Count(shape.Connections), shape.Bound
	r.Notes["timeout"], r.Notes["window"] = shape.Timeout.String(), shape.Window.String()
	err = program.Steps(ctx, r, out, jobs, tooLong, func(*record.Job) time.Duration { return shape.Expected() }, func(ctx context.Context, x *record.Job) (o record.Outcome, err error) {
		o.Values, err = load.Run(ctx, x.Contender, &shape, func(step string) { fmt.Fprintf(out, "  %s\n", step) })
		return o, err
	})
	if err == nil && s.Wants(partUse) {
		fmt.Fprintln(out, "the cost of one use")
		r.Results = append(r.Results, uses(ctx, s)...)
	}
	return context.Cause(ctx)
}

// uses measures one use of each guard, unless it works inside of the use.
func uses(ctx context.Context, s *program.Settings) (results []record.Result) {
	c := activity.Config{Window: 100 * time.Millisecond, Trials: 5}
	if s.Quick {
		c.Window, c.Trials = 20*time.Millisecond, 1
	}
	for _, name := range s.Contenders {
		if info, err := record.Find(guard.All, name); err == nil && !info.Inside {
			c.Guards = append(c.Guards, name)
		}
	}
	if err := child.Ask(ctx, "meter", "Measure", c, &results); err != nil {
		results = append(results, record.Result{Job: record.Job{Part: partUse}, Failed: err.Error()})
	}
	return results
}
