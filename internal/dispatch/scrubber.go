package dispatch

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/store"
)

const (
	// scrubStep is how many records and index entries one step checks.
	scrubStep = 500
	// scrubShare is how many times longer a pause is than the step before it,
	// so that a scrub takes at most two percent of the store's time.
	scrubShare = 50
	// scrubPause is the shortest pause.
	scrubPause = 10 * time.Millisecond
	// scrubDelay is how long the first round waits, because a start has other
	// work.
	scrubDelay = time.Minute
)

// scrubber audits the store, round after round, each from its start to its end.
func (d *Dispatcher) scrubber(ctx context.Context) {
	s := d.config.Scrubber
	if s == nil || d.config.ScrubEvery < 0 {
		return
	}
	wait := min(scrubDelay, d.config.ScrubEvery)
	for pause(ctx, wait) {
		began := d.monotonic()
		d.scrub(ctx, s)
		wait = max(d.config.ScrubEvery-(d.monotonic()-began), scrubPause)
	}
}

// scrub makes one round. A step that fails ends the round, and the next round
// begins at the start.
func (d *Dispatcher) scrub(ctx context.Context, s store.Scrubber) {
	for cursor := ""; ; {
		began := d.monotonic()
		found, err := s.Scrub(ctx, d.now(), cursor, scrubStep)
		if err != nil {
			d.logFailure(ctx, "scrub the store", err)
			return
		}
		for _, r := range found.Repairs {
			d.config.plain.Error("the scrub repaired a task", "namespace", r.Key.Namespace, "task", r.Key.Name, "found", r.Found)
		}
		if d.config.OnScrub != nil {
			d.config.OnScrub(found)
		}
		cursor = found.Next
		if cursor == "" || !pause(ctx, max((d.monotonic()-began)*scrubShare, scrubPause)) {
			return
		}
	}
}
