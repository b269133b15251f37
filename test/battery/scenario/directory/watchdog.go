package directory

import (
	"context"
	"net/http"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// Watchdog: a task is touched at intervals shorter than its delay, and then no
// more.
func Watchdog(ctx context.Context, t *harness.Run) {
	st := t.NewEnvironment(ctx)
	const name, delay, every, touches = "watchdog", time.Second, 300 * time.Millisecond, 30
	in := wire.TaskInput{Name: name, Delay: delay.String(), HTTP: wire.HTTPInput{URL: st.Receiver.URL()}}
	harness.Check(st.Client.CreateAll(ctx, []wire.TaskInput{in}))
	var last time.Time // when the last touch was requested: the task is due no earlier than delay after it
	for i := range touches {
		harness.Pause(ctx, every)
		last = time.Now()
		status, reply := harness.OK2(st.Client.Call(ctx, http.MethodPost, "/tasks/"+name+"/touch", nil))
		if status != http.StatusOK {
			harness.Fatalf("touch %d: status %d: %s", i+1, status, reply)
		}
	}
	t.Must(st.Receiver.Arrivals(name) == 0, "fired %d times during %d touches", st.Receiver.Arrivals(name), touches)
	harness.Check(st.Promised(name, last.Add(delay)))
	timing.Pause(ctx, 3*delay)
	t.Must(st.Receiver.Arrivals(name) == 1, "fired %d times after they stopped", st.Receiver.Arrivals(name))
	v := st.Conclude(ctx, harness.Phases{})
	t.Lateness("after the last touch's delay", v.Late)
}
