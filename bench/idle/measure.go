package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/foliot/foliot/bench/child"
	"github.com/foliot/foliot/bench/idle/activity"
	"github.com/foliot/foliot/bench/idle/guard"
	"github.com/foliot/foliot/bench/idle/load"
	"github.com/foliot/foliot/bench/idle/virtual"
	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/program"
	"github.com/foliot/foliot/bench/record"
)

// tooLong is the time limit of a job.
const tooLong = 5 * time.Minute

// The contenders of the part herd: bystanders alone, and with a herd.
const (
	calm = "calm"
	herd = "herd"
)

// sizes are the numbers of virtual connections, and their times.
type sizes struct {
	crowd, herd, bystanders, trials int
	every, window, timeout          time.Duration
}

func sizesOf(s *program.Settings) sizes {
	if s.Quick {
		return sizes{crowd: 20_000, herd: 1000, bystanders: 200, trials: 1, every: time.Second, window: time.Second, timeout: time.Second}
	}
	return sizes{crowd: 1_000_000, herd: 100_000, bystanders: 2000, trials: 3, every: 30 * time.Second, window: time.Minute, timeout: 2 * time.Second}
}

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
	z := sizesOf(s)
	if s.Wants(partHerd) {
		for trial := range z.trials {
			jobs = append(jobs, record.Job{Part: partHerd, Contender: calm, Trial: trial + 1, Over: z.timeout},
				record.Job{Part: partHerd, Contender: herd, Trial: trial + 1, N: z.herd, Over: z.timeout})
		}
	}
	return jobs, shape, err
}

func measureAll(ctx context.Context, s *program.Settings, r *record.Run, out io.Writer) error {
	jobs, shape, err := plan(s)
	if err != nil {
		return err
	}
	z := sizesOf(s)
	r.Notes["connections"], r.Notes["bound"] = page.Count(shape.Connections), shape.Bound
	r.Notes["timeout"], r.Notes["window"] = shape.Timeout.String(), shape.Window.String()
	err = program.Steps(ctx, r, out, jobs, tooLong, func(x *record.Job) time.Duration {
		if x.Part == partSockets {
			return shape.Expected()
		}
		return time.Duration(z.bystanders)*1100*time.Microsecond/2 + z.timeout + time.Second
	}, func(ctx context.Context, x *record.Job) (o record.Outcome, err error) {
		if x.Part == partHerd {
			return o, child.Ask(ctx, "virtual", "Herd", virtual.HerdConfig{Herd: x.N, Bystanders: z.bystanders, Timeout: z.timeout}, &o.Values)
		}
		o.Values, err = load.Run(ctx, x.Contender, &shape, func(step string) { fmt.Fprintf(out, "  %s\n", step) })
		return o, err
	})
	if err == nil && s.Wants(partUse) {
		fmt.Fprintln(out, "the cost of one use")
		r.Results = append(r.Results, uses(ctx, s)...)
	}
	if err == nil && s.Wants(partCrowd) {
		fmt.Fprintf(out, "%d virtual connections, in two ways at a time, for %v\n", z.crowd, 2*z.every+z.window)
		r.Results = append(r.Results, crowds(ctx, z)...)
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

// crowds measures all ways to watch a crowd at the same time.
func crowds(ctx context.Context, z sizes) []record.Result {
	ways := []string{virtual.Near, virtual.Far}
	results := make([]record.Result, len(ways))
	var group sync.WaitGroup
	for i, way := range ways {
		results[i].Job = record.Job{Part: partCrowd, Contender: way, N: z.crowd, Over: z.window}
		group.Go(func() {
			c := virtual.CrowdConfig{Watch: way, Connections: z.crowd, Every: z.every, Window: z.window}
			if err := child.Ask(ctx, "virtual", "Crowd", c, &results[i].Values); err != nil {
				results[i].Failed = err.Error()
			}
		})
	}
	group.Wait()
	return results
}
