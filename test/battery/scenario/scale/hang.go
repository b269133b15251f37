package scale

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/receiver"
	"github.com/foliot/foliot/test/battery/harness/system"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// Hang: one host accepts and never answers, another one answers.
func Hang(ctx context.Context, t *harness.Run) {
	// The timeout is shorter than a phase. So during the measurement, tasks
	// that hang release their slots, and the next ones take them.
	besideHanging(ctx, t, hanging{tasks: 10_000, hosts: 1, timeout: "5s", phase: 10 * time.Second})
}

// Crowd: like Hang with many tasks, in a queue of their own.
func Crowd(ctx context.Context, t *harness.Run) {
	besideHanging(ctx, t, hanging{tasks: t.Options.Stuck, hosts: 1, queue: "crowd", timeout: t.Options.Timeout, phase: t.Options.Phase})
}

// Hosts: like Crowd with many hosts that hang. Each host gets slots of its own.
func Hosts(ctx context.Context, t *harness.Run) {
	besideHanging(ctx, t, hanging{tasks: t.Options.Stuck, hosts: t.Options.Hosts, queue: "crowd", timeout: t.Options.Timeout, phase: t.Options.Phase})
}

// hanging describes the tasks that hang next to the healthy ones.
type hanging struct {
	tasks   int
	hosts   int
	queue   string        // empty means the same as the healthy tasks'
	timeout string        // empty means the default
	phase   time.Duration // for which lateness is measured, without them and with them
}

// besideHanging measures the lateness of tasks to a host that replies: first alone,
// then next to tasks that hang, in one run on one server.
func besideHanging(ctx context.Context, t *harness.Run, h hanging) {
	st := t.NewEnvironment(ctx, "--grace", "1s") // do not wait for hanging tasks at the end
	hosts := make([]*receiver.HangServer, h.hosts)
	for i := range hosts {
		hosts[i] = harness.OK(receiver.OpenHangServer())
		t.Cleanup(hosts[i].Close)
	}

	before := healthy(ctx, st, "before", h.phase)
	missing := st.Receiver.AwaitAll(ctx, before, h.phase+10*time.Second)
	harness.Check(st.Client.CreateAll(ctx, h.inputs(hosts)))
	beside := healthy(ctx, st, "beside", h.phase)
	machine := system.WatchJitter(ctx)
	missing += st.Receiver.AwaitAll(ctx, beside, h.phase+20*time.Second)
	t.Lateness("of a process that only sleeps, in that time", machine.End())
	v := st.Conclude(ctx, harness.Phases{})
	t.Must(missing == 0 && v.Duplicates == 0, "not delivered in time %d, duplicates %d", missing, v.Duplicates)
	hung, fewest := 0, math.MaxInt
	for _, host := range hosts {
		hung, fewest = hung+host.Seen(), min(fewest, host.Seen())
	}
	t.Must(fewest > 0, "requests that hung %d, some at each of %d hosts", hung, len(hosts))
	alone, crowded := latenessByPhase(st, before, beside)
	shift := t.Lateness("next to tasks that hang", crowded) - t.Lateness("alone", alone)
	t.Must(shift <= 50*time.Millisecond, "p99 shifts by %s, at most 50 ms", verify.Millis(shift))
}

// healthy schedules 200 tasks a second to the receiver.
func healthy(ctx context.Context, st *harness.Environment, prefix string, phase time.Duration) []string {
	const perSecond = 200
	start := timing.DueIn(3 * time.Second)
	return st.Schedule(ctx, perSecond*int(phase/time.Second), prefix, func(i int) time.Time {
		return start.Add(time.Duration(i) * time.Second / perSecond).Truncate(time.Millisecond)
	})
}

// inputs returns the tasks that hang. They are due at once, so many already
// hang when the last is created.
func (h hanging) inputs(hosts []*receiver.HangServer) []wire.TaskInput {
	due := timing.DueIn(0)
	tasks := make([]wire.TaskInput, h.tasks)
	for i := range tasks {
		tasks[i] = harness.Task(fmt.Sprintf("stuck-%d", i), hosts[i%len(hosts)].URL(), due)
		tasks[i].Queue, tasks[i].Timeout = h.queue, h.timeout
	}
	return tasks
}

// latenessByPhase returns the lateness of the tasks of each phase.
func latenessByPhase(st *harness.Environment, before, beside []string) (alone, crowded []time.Duration) {
	e := st.Evidence()
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
	return of(before), of(beside)
}
