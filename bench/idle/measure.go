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
	"github.com/foliot/foliot/bench/idle/report"
	"github.com/foliot/foliot/bench/idle/virtual"
	"github.com/foliot/foliot/bench/program"
)

// tooLong is the time limit of a process.
const tooLong = 5 * time.Minute

// plan lists the measurements.
type plan struct {
	shape  load.Shape
	guards []string // in the order of loading
	uses   activity.Config
	crowds []virtual.CrowdConfig // all at the same time
	herds  []virtual.HerdConfig  // one after another
}

func newPlan(s *settings) (p plan, err error) {
	wants := func(part string) bool { return slices.Contains(s.parts, part) }
	if wants(partSockets) {
		if p.shape, err = shapeOf(s); err != nil {
			return p, err
		}
		p.guards = s.guards
		if len(p.guards) > 1 && slices.Contains(p.guards, guard.None) {
			p.guards = append(slices.Clone(p.guards), guard.None) // the difference between the two is noise
		}
	}
	if wants(partUse) {
		p.uses = activity.Config{Window: 100 * time.Millisecond, Trials: 5}
		for _, name := range s.guards {
			if info, err := guard.Find(name); err == nil && !info.Inside {
				p.uses.Guards = append(p.uses.Guards, name)
			}
		}
		if s.Quick {
			p.uses.Window, p.uses.Trials = 20*time.Millisecond, 1
		}
	}
	if wants(partCrowd) {
		p.crowds = crowds(s.Quick)
	}
	if wants(partHerd) {
		p.herds = herds(s.Quick)
	}
	return p, nil
}

func shapeOf(s *settings) (load.Shape, error) {
	if s.Quick {
		n := 1000
		if s.n > 0 {
			n = s.n
		}
		return load.Quick(n), nil
	}
	shape, err := load.Full()
	if s.n > 0 {
		shape.Connections, shape.Bound = s.n, "asked for"
	}
	return shape, err
}

func crowds(quick bool) (list []virtual.CrowdConfig) {
	for _, w := range []virtual.Watch{virtual.Near, virtual.Far, virtual.Loose} {
		c := virtual.CrowdConfig{Watch: w, Connections: 1_000_000, Every: 30 * time.Second, Window: time.Minute}
		if quick {
			c.Connections, c.Every, c.Window = 20_000, time.Second, time.Second
		}
		list = append(list, c)
	}
	return list
}

func herds(quick bool) (list []virtual.HerdConfig) {
	trials, size, timeout, bystanders := 3, 100_000, 2*time.Second, 2000
	if quick {
		trials, size, timeout, bystanders = 1, 1000, time.Second, 200
	}
	for range trials {
		for _, c := range []virtual.HerdConfig{
			{}, {Herd: size}, {Herd: size, Work: 5 * time.Microsecond}, {Herd: size, Work: 5 * time.Microsecond, MaxPerTick: size / 50},
		} {
			c.Timeout, c.Bystanders = timeout, bystanders
			list = append(list, c)
		}
	}
	return list
}

func (p *plan) expected() time.Duration {
	all := time.Duration(len(p.guards))*p.shape.Expected() + usesExpected(p.uses)
	if len(p.crowds) > 0 {
		all += crowdExpected(p.crowds[0])
	}
	for _, h := range p.herds {
		all += herdExpected(h)
	}
	return all
}

func usesExpected(c activity.Config) time.Duration {
	return time.Duration(4*c.Trials*len(c.Guards)) * (c.Window + 10*time.Millisecond)
}

func crowdExpected(c virtual.CrowdConfig) time.Duration { return 2*c.Every + c.Window + time.Second }

func herdExpected(h virtual.HerdConfig) time.Duration {
	return time.Duration(h.Bystanders)*1100*time.Microsecond/2 + h.Timeout + time.Second
}

// measureAll runs the measurements that the settings select. It stores failures
// in r. An error means that it could not continue.
func measureAll(ctx context.Context, s *settings, r *report.Run, out io.Writer) error {
	p, err := newPlan(s)
	if err != nil {
		return err
	}
	r.Shape = p.shape
	progress := program.NewProgress(out, p.expected())
	p.load(ctx, r, progress)
	p.use(ctx, r, progress)
	p.crowd(ctx, r, progress)
	p.herd(ctx, r, progress)
	return context.Cause(ctx)
}

func (p *plan) load(ctx context.Context, r *report.Run, progress *program.Progress) {
	for i, name := range p.guards {
		if ctx.Err() != nil {
			return
		}
		progress.Begin(p.shape.Expected())
		say := func(step string) {
			progress.Say("[%d/%d] %s, %d connections: %s", i+1, len(p.guards), name, p.shape.Connections, step)
		}
		limited, cancel := context.WithTimeoutCause(ctx, tooLong, fmt.Errorf("it took longer than %v", tooLong))
		result := load.Run(limited, name, &p.shape, say)
		cancel()
		if result.Failed != "" {
			progress.Say("FAILED: %s", result.Failed)
		}
		r.Loads = append(r.Loads, result)
	}
}

func (p *plan) use(ctx context.Context, r *report.Run, progress *program.Progress) {
	if len(p.uses.Guards) == 0 || ctx.Err() != nil {
		return
	}
	progress.Begin(usesExpected(p.uses))
	progress.Say("the cost of one use")
	if err := ask(ctx, "meter", "Measure", p.uses, &r.Costs); err != nil {
		r.Failed = append(r.Failed, err.Error())
	}
}

func (p *plan) crowd(ctx context.Context, r *report.Run, progress *program.Progress) {
	if len(p.crowds) == 0 || ctx.Err() != nil {
		return
	}
	progress.Begin(crowdExpected(p.crowds[0]))
	progress.Say("%d virtual connections, in three ways at a time", p.crowds[0].Connections)
	results, failures := make([]virtual.Crowd, len(p.crowds)), make([]error, len(p.crowds))
	var wg sync.WaitGroup
	for i, c := range p.crowds {
		wg.Go(func() { failures[i] = ask(ctx, "virtual", "Crowd", c, &results[i]) })
	}
	wg.Wait()
	for i, err := range failures {
		if err != nil {
			r.Failed = append(r.Failed, err.Error())
			continue
		}
		r.Crowds = append(r.Crowds, results[i])
	}
}

func (p *plan) herd(ctx context.Context, r *report.Run, progress *program.Progress) {
	for i, h := range p.herds {
		if ctx.Err() != nil {
			return
		}
		progress.Begin(herdExpected(h))
		progress.Say("[%d/%d] a herd of %d", i+1, len(p.herds), h.Herd)
		var result virtual.Herd
		if err := ask(ctx, "virtual", "Herd", h, &result); err != nil {
			r.Failed = append(r.Failed, err.Error())
			continue
		}
		r.Herds = append(r.Herds, result)
	}
}

// ask calls one method of a new process.
func ask(ctx context.Context, role, method string, args, reply any) error {
	c, err := child.Start(role)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, tooLong, fmt.Errorf("it took longer than %v", tooLong))
	defer cancel()
	err = c.Call(ctx, method, args, reply)
	if end := c.End(); err == nil {
		err = end
	}
	return err
}
