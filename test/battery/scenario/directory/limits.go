package directory

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/receiver"
	"github.com/foliot/foliot/test/battery/harness/system"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// Limits: the limits of a queue, as the receiver sees them.
func Limits(ctx context.Context, t *harness.Run) {
	for _, part := range []struct {
		name string
		run  func(context.Context, *harness.Environment)
	}{{"rate", limitedRate}, {"concurrency", limitedConcurrency}, {"destinations", limitedPerDestination}, {"pause", paused}} {
		t.Part(part.name, func() {
			st := t.NewEnvironmentIn(ctx, part.name)
			t.Note("%s:", part.name)
			st.Conclude(ctx, harness.Phases{Attack: func() { part.run(ctx, st) }})
		})
	}
}

// limitedRate checks the rate of a queue over any window, after a burst.
func limitedRate(ctx context.Context, st *harness.Environment) {
	const rate, burst, count = 50, 10, 600
	harness.Check(st.Client.PutQueue(ctx, "rate", wire.QueueInput{Rate: rate, Burst: burst}))
	start := timing.DueIn(2 * time.Second)
	names := st.ScheduleIn(ctx, "rate", count, "rate", func(int) time.Time { return start })
	machine := system.WatchJitter(ctx)
	missing := st.Receiver.AwaitAll(ctx, names, 30*time.Second)
	jitter := verify.Percentile(machine.End(), 100)
	e := st.Evidence()
	arrivals := verify.ArrivalTimes(e)
	// The longest delay of this machine. If a request was late, the time
	// between two arrivals is shorter than between their sends, by up to this
	// much.
	allowed := 1 + rate*(jitter+5*time.Millisecond).Seconds()
	over := verify.RateExcess(arrivals, rate, burst)
	st.Run.Must(missing == 0, "delivered %d of %d", count-missing, count)
	st.Run.Must(over <= allowed, "beyond burst + rate x time, in the worst window: %.2f, at most %.2f by this machine's jitter of %s", over, allowed, verify.Millis(jitter))
	took, wanted := arrivals[len(arrivals)-1].Sub(arrivals[0]), time.Duration(count-burst)*time.Second/rate
	st.Run.Must(took <= wanted+wanted/20, "delivered over %.2f s; at the full rate it is %.2f s", took.Seconds(), wanted.Seconds())
}

// limitedConcurrency checks the concurrency of a queue.
func limitedConcurrency(ctx context.Context, st *harness.Environment) {
	const concurrency, count, each = 5, 300, 20 * time.Millisecond
	harness.Check(st.Client.PutQueue(ctx, "narrow", wire.QueueInput{Concurrency: concurrency}))
	st.Receiver.Before = func(string) { timing.Pause(ctx, each) }
	start := timing.DueIn(time.Second)
	names := st.ScheduleIn(ctx, "narrow", count, "narrow", func(int) time.Time { return start })
	missing := st.Receiver.AwaitAll(ctx, names, 20*time.Second)
	took, wanted := time.Since(start), count/concurrency*each
	st.Run.Must(missing == 0, "delivered %d of %d", count-missing, count)
	st.Run.Must(st.Receiver.MostOpen() == concurrency, "under way at once %d, and no more: the limit is %d", st.Receiver.MostOpen(), concurrency)
	st.Run.Note("delivered over %.2f s; with nothing in between it is %.2f s", took.Seconds(), wanted.Seconds())
}

// limitedPerDestination checks the limit of concurrent requests to each of two
// receivers.
func limitedPerDestination(ctx context.Context, st *harness.Environment) {
	const perDestination, count, each = 2, 100, 20 * time.Millisecond
	other := harness.OK(receiver.Open(st.Path("arrived"))) // both append to the same log
	defer func() { _ = other.Close() }()                   // each line was synced when it was written
	harness.Check(st.Client.PutQueue(ctx, "split", wire.QueueInput{PerDestination: perDestination}))
	start := timing.DueIn(time.Second)
	due := func(int) time.Time { return start }
	for _, r := range []*receiver.Receiver{st.Receiver, other} {
		r.Before = func(string) { timing.Pause(ctx, each) }
	}
	here := st.ScheduleTo(ctx, st.Receiver, "split", count, "here", due)
	there := st.ScheduleTo(ctx, other, "split", count, "there", due)
	missing := st.Receiver.AwaitAll(ctx, here, 20*time.Second) + other.AwaitAll(ctx, there, 20*time.Second)
	st.Run.Must(missing == 0, "delivered %d of %d", 2*count-missing, 2*count)
	st.Run.Must(st.Receiver.MostOpen() == perDestination && other.MostOpen() == perDestination,
		"under way at once %d and %d, and no more: the limit is %d each", st.Receiver.MostOpen(), other.MostOpen(), perDestination)
}

// paused pauses a queue while it delivers, and resumes it. Then it pauses the
// queue for a while, so that the queue resumes by itself. The waiting tasks
// must arrive after each pause.
func paused(ctx context.Context, st *harness.Environment) {
	const perSecond, lasts = 200, 9 * time.Second
	start := timing.DueIn(time.Second)
	names := st.ScheduleIn(ctx, "paused", perSecond*int(lasts/time.Second), "paused", func(i int) time.Time {
		return start.Add(time.Duration(i) * time.Second / perSecond)
	})
	var silences []verify.QueuePause
	timing.Until(ctx, start.Add(2*time.Second))
	harness.Check(st.Client.PauseQueue(ctx, "paused", ""))
	from := time.Now()
	timing.Pause(ctx, 2*time.Second)
	silences = append(silences, verify.QueuePause{From: from, To: time.Now()})
	harness.Check(st.Client.ResumeQueue(ctx, "paused"))
	timing.Pause(ctx, time.Second)
	asked := time.Now()
	harness.Check(st.Client.PauseQueue(ctx, "paused", "2s"))
	silences = append(silences, verify.QueuePause{From: time.Now(), To: asked.Add(2 * time.Second)})
	missing := st.Receiver.AwaitAll(ctx, names, lasts+10*time.Second)
	st.Run.Must(missing == 0, "delivered %d of %d", len(names)-missing, len(names))
	e := st.Evidence()
	forbidden, underWay, after := verify.CheckPauses(silences, verify.ArrivalTimes(e))
	st.Run.Must(len(forbidden) == 0, "arrived during a pause %d%s; under way when it was answered %d", len(forbidden), verify.Examples(forbidden), underWay)
	st.Run.Must(after > 0, "arrived after the second pause, which ended by itself: %d", after)
}
