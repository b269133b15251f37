package history

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Query selects figures: of the spans from From until before Until, which are multiples
// of Step. An empty Namespace or Queue means all.
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
	Queues map[task.QueueKey]*Figures // of the whole time; a key without a queue stands for the others of its namespace
}

// Read returns the figures of q. Those of the last seconds may be missing: see Flush.
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
	sum.Queues = map[task.QueueKey]*Figures{}
	for _, frame := range frames(append(parts, fine...)) {
		queues := frame.queues()
		var total Figures
		for k, f := range queues {
			if q.Namespace != "" && k.Namespace != q.Namespace || q.Queue != "" && k.Queue != q.Queue {
				continue
			}
			total.add(f)
			byQueue(sum.Queues).of(k).follow(f)
		}
		if total == (Figures{}) {
			continue
		}
		at := start(frame[0].At, q.Step)
		if n := len(sum.Steps); n == 0 || sum.Steps[n-1].At != at {
			sum.Steps = append(sum.Steps, Step{At: at})
		}
		sum.Steps[len(sum.Steps)-1].follow(&total)
	}
	return sum, nil
}

// frame is the parts of one span, of all processes.
type frame []Part

// queues adds the parts up, without damaged ones.
func (f frame) queues() byQueue {
	all := byQueue{}
	for _, p := range f {
		part := byQueue{}
		if part.decode(p.Data) != nil {
			continue
		}
		for k, of := range part {
			all.of(k).add(of)
		}
	}
	return all
}

// frames returns parts by their spans, the earliest first.
func frames(parts []Part) (all []frame) {
	slices.SortFunc(parts, func(a, b Part) int { return cmp.Compare(a.At, b.At) })
	for len(parts) > 0 {
		n := 1
		for n < len(parts) && parts[n].At == parts[0].At {
			n++
		}
		all, parts = append(all, parts[:n]), parts[n:]
	}
	return all
}
