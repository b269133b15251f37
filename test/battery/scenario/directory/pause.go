package directory

import (
	"context"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// paused: a queue is paused while it delivers, and resumed; then paused for a
// while, so that it resumes by itself. The tasks that waited come afterwards.
func paused(ctx context.Context, st *harness.Environment) error {
	const perSecond, lasts = 200, 9 * time.Second
	start := timing.DueIn(time.Second)
	names, err := st.ScheduleIn(ctx, "paused", perSecond*int(lasts/time.Second), "paused", func(i int) time.Time {
		return start.Add(time.Duration(i) * time.Second / perSecond)
	})
	if err != nil {
		return err
	}
	var silences []verify.QueuePause
	timing.Until(ctx, start.Add(2*time.Second))
	if err := st.Client.PauseQueue(ctx, "paused", ""); err != nil {
		return err
	}
	from := time.Now()
	timing.Pause(ctx, 2*time.Second)
	silences = append(silences, verify.QueuePause{From: from, To: time.Now()})
	if err := st.Client.ResumeQueue(ctx, "paused"); err != nil {
		return err
	}
	timing.Pause(ctx, time.Second)
	asked := time.Now()
	if err := st.Client.PauseQueue(ctx, "paused", "2s"); err != nil {
		return err
	}
	silences = append(silences, verify.QueuePause{From: time.Now(), To: asked.Add(2 * time.Second)})
	missing := st.Receiver.AwaitAll(ctx, names, lasts+10*time.Second)
	st.Run.Must(missing == 0, "delivered %d of %d", len(names)-missing, len(names))
	e, err := st.Evidence()
	if err != nil {
		return err
	}
	forbidden, underWay, after := verify.CheckPauses(silences, verify.ArrivalTimes(e))
	st.Run.Must(len(forbidden) == 0, "arrived during a pause %d%s; under way when it was answered %d", len(forbidden), verify.Examples(forbidden), underWay)
	st.Run.Must(after > 0, "arrived after the second pause, which ended by itself: %d", after)
	return nil
}
