package directory

import (
	"context"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/system"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// Steady: a server with some load and without faults.
func Steady(ctx context.Context, t *harness.Run) {
	st := t.NewEnvironment(ctx)
	const count, spread = 2000, 5 * time.Second
	names := st.Schedule(ctx, count, "steady", func(i int) time.Time {
		return timing.DueIn(2*time.Second + time.Duration(t.Rand.Int64N(int64(spread))))
	})
	machine := system.WatchJitter(ctx)
	st.Receiver.AwaitAll(ctx, names, 30*time.Second)
	timing.Pause(ctx, time.Second) // a duplicate would come about now
	idle := machine.End()
	v := st.Conclude(ctx, harness.Phases{})
	t.Must(v.Duplicates == 0, "duplicates %d", v.Duplicates)
	t.Lateness("of a process that only sleeps, in that time", idle)
	p99 := t.Lateness("of all", v.Late)
	t.Measured("lateness, p99", "ms", float64(p99.Microseconds())/1000)
	t.Must(p99 <= 10*time.Millisecond, "lateness p99 %s, at most 10 ms", verify.Millis(p99))
}
