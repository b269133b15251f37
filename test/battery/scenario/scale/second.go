package scale

import (
	"context"
	"errors"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/receiver"
	"github.com/foliot/foliot/test/battery/harness/system"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// Second: many tasks are due within one second, next to a queue with a few tasks a
// second. Two sizes show whether memory grows with the backlog.
func Second(ctx context.Context, t *harness.Run) {
	var small, large system.MemoryUse
	t.Part("small-herd", func() { small = runHerd(ctx, t, "small-herd", t.Options.Herd/5) })
	t.Part("herd", func() { large = runHerd(ctx, t, "herd", t.Options.Herd) })
	mustBeFlat(t, small, large)
}

// mustBeFlat compares the memory that a herd took with that of a herd of a
// fifth of the size.
func mustBeFlat(t *harness.Run, small, large system.MemoryUse) {
	const known = 100_000 // tasks that a server may know in memory: up to these it grows
	if t.Options.Herd/5 < known {
		t.Note("memory's peak %d MB with %d tasks, %d MB with %d; too few to judge by", small.Peak>>20, t.Options.Herd/5, large.Peak>>20, t.Options.Herd)
		return
	}
	t.Must(flat(small.Peak, large.Peak), "memory's peak %d MB with %d tasks, %d MB with %d", small.Peak>>20, t.Options.Herd/5, large.Peak>>20, t.Options.Herd)
}

// flat reports whether a peak does not grow with the backlog. It allows a
// quarter more, and the variation of the garbage collector from run to run.
func flat(small, large int64) bool { return large <= small+small/4+32<<20 }

// runHerd runs one herd on a server of its own. It returns the memory of that
// server, from before the import until all tasks were delivered.
func runHerd(ctx context.Context, t *harness.Run, name string, count int) system.MemoryUse {
	st := t.NewEnvironmentIn(ctx, name)
	fast := st.StartFast("127.0.0.1:0")
	memory := system.WatchMemory(ctx, st.Server.PID())
	defer memory.End()

	start := timing.DueIn(harness.LeadFor(count))
	herd := verify.Numbered{Prefix: name, Count: count, Due: func(i int) time.Time {
		return start.Add(time.Duration(i%1000) * time.Millisecond)
	}}
	st.ImportNumbered(ctx, herd, "herd", fast.URL())
	beside := st.StartBystanders(ctx, 10)
	err := fast.Await(ctx, count, start, 30*time.Second)
	harness.Check(errors.Join(err, beside.End(ctx)))
	seen := memory.End()
	concludeHerd(st, herd, fast, seen)
	return seen
}

func concludeHerd(st *harness.Environment, herd verify.Numbered, fast *receiver.Fast, seen system.MemoryUse) {
	st.StopWith(fast)
	t := st.Run
	v := t.JudgeNumbered(herd, fast.Path)
	t.Note("drained in %.1f s", v.Last.Sub(v.First).Seconds())
	t.Measured("herd", "a second", v.Rate)
	t.Note("memory: %v", seen)
	t.Note("the bystanders:")
	beside := st.Judge()
	p99 := t.Lateness("of the bystanders", beside.Late)
	t.Measured("bystanders' lateness, p99", "ms", float64(p99.Microseconds())/1000)
	t.Must(p99 <= time.Second, "bystanders' p99 %s, at most 1 s", verify.Millis(p99))
}
