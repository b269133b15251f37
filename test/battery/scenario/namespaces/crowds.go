package namespaces

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// hostURL returns the i-th of many hosts: loopback addresses that all lead to the
// receiver at callback, which listens on every address.
func hostURL(callback string, i int) string {
	_, port, _ := net.SplitHostPort(callback) // the battery's own address
	i += 1 << 16                              // other processes use 127.0.*.*
	return fmt.Sprintf("http://127.%d.%d.%d:%s/", i>>16, i>>8&0xff, i&0xff, port)
}

func crowdOfHosts(ctx context.Context, a *attacker) error {
	return a.crowd(ctx, func(i int, in *wire.TaskInput) { in.HTTP.URL = hostURL(a.order.Callback, i) })
}

func crowdOfQueues(ctx context.Context, a *attacker) error {
	return a.crowd(ctx, func(i int, in *wire.TaskInput) { in.Queue = fmt.Sprintf("crowd-%d", i) })
}

const crowdWorkers = 4

// crowd creates tasks that are all due at one instant, soon after the last was created.
func (a *attacker) crowd(ctx context.Context, edit func(i int, in *wire.TaskInput)) error {
	const batch = 500
	callback := "http://" + a.order.Callback + "/"
	return a.muster(a.order.Rivals/batch, func(b int, due time.Time) error {
		tasks := make([]wire.TaskInput, batch)
		for i := range tasks {
			n := b*batch + i
			tasks[i] = harness.Task(fmt.Sprintf("rival-%d", n), callback, due)
			edit(n, &tasks[i])
		}
		return a.writer().CreateAll(ctx, tasks)
	}, batch)
}

func rivalSchedules(ctx context.Context, a *attacker) error {
	return a.muster(a.order.Schedules, func(i int, due time.Time) error {
		return a.writer().PutSchedule(ctx, fmt.Sprintf("rival-%d", i), wire.ScheduleInput{
			ScheduleRule: wire.ScheduleRule{Every: "24h", Start: wire.FormatTime(due)}, Task: wire.ScheduledTask{HTTP: wire.HTTPInput{URL: "http://" + a.order.Callback + "/"}},
		})
	}, 1)
}

// muster calls create(0) … create(n-1). Each call makes size tasks. The first
// tenth of the calls makes tasks that are due much later, and measures how long
// the other calls will take. The tasks of the other calls are due at one
// instant after that.
func (a *attacker) muster(n int, create func(i int, due time.Time) error, size int) error {
	const ahead = 3 * time.Second
	trial, began := max(1, n/10), time.Now()
	if err := timing.InParallel(trial, crowdWorkers, func(i int) error { return create(i, later()) }); err != nil {
		return err
	}
	left := time.Since(began) * time.Duration(n-trial) / time.Duration(trial)
	a.ready = attackReady{Count: (n - trial) * size, Due: timing.DueIn(left*5/4 + ahead)}
	return timing.InParallel(n-trial, crowdWorkers, func(i int) error { return create(trial+i, a.ready.Due) })
}
