// Command schedule shows the rules for runs that cannot begin on time, side by
// side: once because the run before is slow, once because the process stands
// still. The left side is Java and package time:
//
//	scheduleAtFixedRate (Timer, ScheduledThreadPool)    Every with wheel.CatchUp
//	scheduleWithFixedDelay                              Every with wheel.FixedDelay
//	Timer.schedule with a period                        Every with wheel.SkipMissed, the default
//	a cron expression                                   ScheduleFunc
//
// Two runs of a series never overlap. A slow run delays no other series, because
// each run has a goroutine, unless wheel.Config.Run says otherwise. (In Java, one
// thread of Timer serves all tasks.) A panic ends the program. With
// wheel.Config.OnPanic the program continues, and so does the series. (In Java
// the series ends, or the whole Timer.)
//
// After a slow run, Timer.schedule runs at once, and counts from the begin of
// this run. SkipMissed waits for the grid. After a stall it runs once late, and
// then on the grid.
//
//	go run -C examples ./wheel/schedule
package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/foliot/foliot/wheel"
)

const period = time.Second

// A rule begins a series that calls f each second.
type rule struct {
	name  string
	begin func(timers *wheel.Timers, f func())
}

var rules = []rule{every(wheel.SkipMissed), every(wheel.CatchUp), every(wheel.FixedDelay), {"calendar", calendar}}

func every(missed wheel.MissedRuns) rule {
	return rule{missed.String(), func(timers *wheel.Timers, f func()) {
		timers.Every(period, f, wheel.EveryOptions{Missed: missed})
	}}
}

func calendar(timers *wheel.Timers, f func()) {
	start := time.Now()
	timers.ScheduleFunc(func(t time.Time) time.Time { // the first instant after t; usually from a cron expression
		return start.Add(t.Sub(start).Truncate(period) + period)
	}, f)
}

func main() { run(os.Stdout) }

func run(out io.Writer) {
	slow, still := make([]string, len(rules)), make([]string, len(rules))
	var all sync.WaitGroup
	for i, r := range rules {
		all.Go(func() { slow[i] = begins(r, 2500*time.Millisecond, 0) })
		all.Go(func() { still[i] = begins(r, 0, 2700*time.Millisecond) })
	}
	all.Wait()
	fmt.Fprintf(out, "%-14s%-34s%s\n", "runs at", "the first run takes 2.5 s", "stalled from 1.5 s to 4.2 s")
	for i, r := range rules {
		fmt.Fprintf(out, "%-14s%-34s%s\n", r.name, slow[i], still[i])
	}
}

// begins returns when the runs of six seconds begin. The first one takes some
// time. At 1.5 s, the process stands still for some time.
func begins(r rule, first, still time.Duration) string {
	timers := wheel.NewTimers(wheel.Config{Run: wheel.Inline, Shards: 1}) // so that one callback can block all
	defer timers.Close()
	start := time.Now()
	var runs []string // of one goroutine at a time
	timers.AfterFunc(1500*time.Millisecond, func() { time.Sleep(still) })
	r.begin(timers, func() {
		runs = append(runs, fmt.Sprintf("%.1f", time.Since(start).Seconds()))
		if len(runs) == 1 {
			time.Sleep(first)
		}
	})
	time.Sleep(6*time.Second + period*8/10)
	timers.Close() // waits for a run
	return strings.Join(runs, "  ")
}
