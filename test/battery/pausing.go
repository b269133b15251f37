package main

import (
	"context"
	"fmt"
	"time"
)

// paused: a queue is paused while it delivers, and resumed; then paused for a
// while, so that it resumes by itself. What waits meanwhile comes afterwards.
func paused(ctx context.Context, st *stage) error {
	const perSecond, lasts = 200, 9 * time.Second
	start := dueIn(time.Second)
	names, err := st.scheduleIn(ctx, "paused", perSecond*int(lasts/time.Second), "paused", func(i int) time.Time {
		return start.Add(time.Duration(i) * time.Second / perSecond)
	})
	if err != nil {
		return err
	}
	var silences []silence
	until(ctx, start.Add(2*time.Second))
	if err := st.client.pauseQueue(ctx, "paused", ""); err != nil {
		return err
	}
	from := time.Now()
	pause(ctx, 2*time.Second)
	silences = append(silences, silence{from: from, to: time.Now()})
	if err := st.client.resumeQueue(ctx, "paused"); err != nil {
		return err
	}
	pause(ctx, time.Second)
	asked := time.Now()
	if err := st.client.pauseQueue(ctx, "paused", "2s"); err != nil {
		return err
	}
	silences = append(silences, silence{from: time.Now(), to: asked.Add(2 * time.Second)})
	missing := st.receiver.awaitAll(ctx, names, lasts+10*time.Second)
	st.t.must(missing == 0, "delivered %d of %d", len(names)-missing, len(names))
	e, err := st.evidence()
	if err != nil {
		return err
	}
	forbidden, underWay, after := broken(silences, arrivalsOf(e))
	st.t.must(len(forbidden) == 0, "arrived during a pause %d%s; under way when it was answered %d", len(forbidden), some(forbidden), underWay)
	st.t.must(after > 0, "arrived after the second pause, which ended by itself: %d", after)
	return nil
}

// silence is when nothing may start: from the answer to a pause up to when its
// end was asked for, or was to come by itself.
type silence struct{ from, to time.Time }

// broken returns the arrivals that a silence forbids, how many it excuses as
// they were under way when it began, and how many came after the last one.
// arrivals are ascending.
func broken(silences []silence, arrivals []time.Time) (forbidden []string, underWay, after int) {
	for _, at := range arrivals {
		for _, s := range silences {
			switch {
			case !at.After(s.from) || !at.Before(s.to):
			case at.After(s.from.Add(wireDelay)):
				forbidden = append(forbidden, fmt.Sprintf("%v after the answer", at.Sub(s.from)))
			default:
				underWay++
			}
		}
		if len(silences) > 0 && at.After(silences[len(silences)-1].to) {
			after++
		}
	}
	return forbidden, underWay, after
}
