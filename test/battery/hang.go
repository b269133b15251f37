package main

import (
	"context"
	"fmt"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness/receiver"
	"github.com/foliot/foliot/test/battery/harness/system"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// hang: one host accepts and never answers, another one answers.
func hang(ctx context.Context, t *trial) error {
	// Slots are given back and taken by the next ones while it is measured.
	return t.besideHanging(ctx, hanging{tasks: 10_000, hosts: 1, timeout: "5s", phase: 10 * time.Second})
}

// crowd: the same with many tasks, in a queue of their own.
func crowd(ctx context.Context, t *trial) error {
	return t.besideHanging(ctx, hanging{tasks: t.opts.stuck, hosts: 1, queue: "crowd", timeout: t.opts.timeout, phase: t.opts.phase})
}

// hosts: the same again over many hosts, each of which gets slots of its own.
func hosts(ctx context.Context, t *trial) error {
	return t.besideHanging(ctx, hanging{tasks: t.opts.stuck, hosts: t.opts.hosts, queue: "crowd", timeout: t.opts.timeout, phase: t.opts.phase})
}

// hanging is what stands beside the healthy tasks.
type hanging struct {
	tasks   int
	hosts   int
	queue   string        // "": the same as the healthy tasks'
	timeout string        // "": the default
	phase   time.Duration // for which lateness is measured, without them and with them
}

// besideHanging measures the lateness of tasks to a host that answers, alone
// first and then beside those that hang: in one run, on one server.
func (t *trial) besideHanging(ctx context.Context, h hanging) error {
	st, err := t.stage(ctx, "--grace", "1s") // what hangs at the end is not waited for
	if err != nil {
		return err
	}
	defer st.close()
	pits, err := receiver.OpenHangServers(h.hosts)
	if err != nil {
		return err
	}
	defer receiver.CloseHangServers(pits)

	before, err := st.healthy(ctx, "before", h.phase)
	if err != nil {
		return err
	}
	missing := st.receiver.AwaitAll(ctx, before, h.phase+10*time.Second)
	if err := st.client.createAll(ctx, h.inputs(pits)); err != nil {
		return err
	}
	beside, err := st.healthy(ctx, "beside", h.phase)
	if err != nil {
		return err
	}
	machine := system.WatchJitter(ctx)
	missing += st.receiver.AwaitAll(ctx, beside, h.phase+20*time.Second)
	t.lateness("of a process that only sleeps, meanwhile", machine.End())
	if err := st.server.stop(10 * time.Second); err != nil {
		return err
	}
	v, err := st.judge()
	if err != nil {
		return err
	}
	t.must(missing == 0 && v.Duplicates == 0, "not delivered in time %d, duplicates %d", missing, v.Duplicates)
	t.must(receiver.AllConnected(pits), "requests that hung %d, some at each of %d hosts", receiver.Connections(pits), len(pits))
	alone, crowded, err := st.latenessByPhase(before, beside)
	if err != nil {
		return err
	}
	shift := t.lateness("beside what hangs", crowded) - t.lateness("alone", alone)
	t.must(shift <= 50*time.Millisecond, "p99 shifts by %s, at most 50 ms", verify.Millis(shift))
	return nil
}

// healthy schedules 200 tasks a second to the receiver.
func (st *stage) healthy(ctx context.Context, prefix string, phase time.Duration) ([]string, error) {
	const perSecond = 200
	start := timing.DueIn(3 * time.Second)
	return st.schedule(ctx, perSecond*int(phase/time.Second), prefix, func(i int) time.Time {
		return start.Add(time.Duration(i) * time.Second / perSecond).Truncate(time.Millisecond)
	})
}

// inputs are due at once: by the time that they are all created many hang.
func (h hanging) inputs(pits []*receiver.HangServer) []wire.TaskInput {
	due := timing.DueIn(0)
	tasks := make([]wire.TaskInput, h.tasks)
	for i := range tasks {
		tasks[i] = input(fmt.Sprintf("stuck-%d", i), pits[i%len(pits)].URL(), due)
		tasks[i].Queue, tasks[i].Timeout = h.queue, h.timeout
	}
	return tasks
}

// latenessByPhase splits the lateness by which tasks it is of.
func (st *stage) latenessByPhase(before, beside []string) (alone, crowded []time.Duration, err error) {
	e, err := st.evidence()
	if err != nil {
		return nil, nil, err
	}
	of := func(names []string) []time.Duration {
		chosen := map[string]bool{}
		for _, n := range names {
			chosen[n] = true
		}
		part := verify.Evidence{Arrived: e.Arrived}
		for _, a := range e.Accepted {
			if chosen[a.Name] {
				part.Accepted = append(part.Accepted, a)
			}
		}
		return verify.Check(part).Late
	}
	return of(before), of(beside), nil
}
