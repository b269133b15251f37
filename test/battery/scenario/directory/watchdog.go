package directory

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// Watchdog: a task is touched more often than its delay, then no more.
func Watchdog(ctx context.Context, t *harness.Run) error {
	st, err := t.NewEnvironment(ctx)
	if err != nil {
		return err
	}
	defer st.Close()

	const name, delay, every, touches = "watchdog", time.Second, 300 * time.Millisecond, 30
	in := wire.TaskInput{Name: name, Delay: delay.String(), HTTP: wire.HTTPInput{URL: st.Receiver.URL()}}
	if err := st.Client.CreateAll(ctx, []wire.TaskInput{in}); err != nil {
		return err
	}
	var last time.Time // no touch was answered after it, and it is due no earlier than a delay from when that was asked
	for i := range touches {
		if !timing.Pause(ctx, every) {
			return ctx.Err()
		}
		last = time.Now()
		status, reply, err := st.Client.Call(ctx, http.MethodPost, "/tasks/"+name+"/touch", nil)
		if err != nil {
			return err
		}
		if status != http.StatusOK {
			return fmt.Errorf("touch %d: status %d: %s", i+1, status, reply)
		}
	}
	t.Must(st.Receiver.Arrivals(name) == 0, "fired %d times during %d touches", st.Receiver.Arrivals(name), touches)
	if err := st.Promised(name, last.Add(delay)); err != nil {
		return err
	}
	timing.Pause(ctx, 3*delay)
	t.Must(st.Receiver.Arrivals(name) == 1, "fired %d times after they stopped", st.Receiver.Arrivals(name))
	v, err := st.Conclude(ctx, 0, 10*time.Second)
	if err != nil {
		return err
	}
	t.Lateness("after the last touch's delay", v.Late)
	return nil
}
