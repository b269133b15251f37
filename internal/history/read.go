package history

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Query selects figures: of the parts that begin from From until before Until. An empty
// Namespace or Queue means all.
type Query struct {
	Namespace, Queue string
	From, Until      task.Millis
	Step             time.Duration // a multiple of Minute, and of Hour if it is more than that
}

// Step has the figures of the span that begins at a time.
type Step struct {
	At task.Millis
	Figures
}

// Summary is the reply to a Query.
type Summary struct {
	Steps  []Step                     // those with figures, the earliest first
	Queues map[task.QueueKey]*Figures // of the whole time, as in a part
}

// Read returns the figures of q, without damaged ones. Those of the last seconds may be
// missing: see Flush.
func Read(ctx context.Context, s Store, q Query) (sum Summary, err error) {
	var parts []Part
	from := q.From
	if q.Step >= Hour {
		if parts, err = s.History(ctx, true, from, q.Until); err != nil {
			return sum, err
		}
		for _, p := range parts {
			from = max(from, p.At.Add(Hour))
		}
	}
	from = max(from, q.Until.Add(-KeepMinute-q.Step-Hour)) // the store has no earlier minutes
	fine, err := s.History(ctx, false, from, q.Until)      // of hours that are not summed yet
	if err != nil {
		return sum, err
	}
	steps := map[task.Millis]*Figures{}
	queues := byQueue{}
	for _, p := range append(parts, fine...) {
		part, err := decode(p.Data)
		if err != nil {
			continue
		}
		for k, f := range part {
			if q.Namespace != "" && k.Namespace != q.Namespace || q.Queue != "" && k.Queue != q.Queue {
				continue
			}
			at := start(p.At, q.Step)
			if steps[at] == nil {
				steps[at] = &Figures{}
			}
			steps[at].add(f)
			queues.of(k).add(f)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(steps)) {
		sum.Steps = append(sum.Steps, Step{at, *steps[at]})
	}
	sum.Queues = queues.trim(func(k task.QueueKey) uint64 { return queues[k].Attempts() })
	return sum, nil
}
