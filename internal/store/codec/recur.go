package codec

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// The fields of a schedule's recurrence.
const (
	recurCron          = 1
	recurZone          = 2
	recurGap           = 3
	recurFold          = 4
	recurEvery         = 5
	recurAnchor        = 6
	recurStart         = 7
	recurEnd           = 8
	recurMaxRuns       = 9
	recurJitter        = 10
	recurMisfire       = 11
	recurCatchupWindow = 12
	recurCatchupLimit  = 13
	recurOverlap       = 14

	recurQueue    = 15
	recurPriority = 16
	recurPaused   = 17
	recurPausedAt = 18
	recurLast     = 19
	recurCivil    = 20
	recurNext     = 21
	recurWaiting  = 22
	recurRuns     = 23
	recurLimited  = 24
	recurFired    = 25 // repeated: a span
	recurSkipped  = 26 // a span and a reason
	recurProblem  = 27

	recurManagedBy = 28
)

// The fields of a span.
const (
	spanFrom  = 1
	spanUntil = 2
	spanWhy   = 3
)

func appendRecur(dst []byte, r *task.Recurrence) []byte {
	dst = appendString(dst, recurCron, r.Cron)
	dst = appendString(dst, recurZone, r.Zone)
	dst = appendUint(dst, recurGap, uint64(r.Gap))
	dst = appendUint(dst, recurFold, uint64(r.Fold))
	dst = appendDuration(dst, recurEvery, r.Every)
	dst = appendInt(dst, recurAnchor, int64(r.Anchor))
	dst = appendInt(dst, recurStart, int64(r.Start))
	dst = appendInt(dst, recurEnd, int64(r.End))
	dst = appendInt(dst, recurMaxRuns, r.MaxRuns)
	dst = appendDuration(dst, recurJitter, r.Jitter)
	dst = appendUint(dst, recurMisfire, uint64(r.Misfire))
	dst = appendDuration(dst, recurCatchupWindow, r.CatchupWindow)
	dst = appendInt(dst, recurCatchupLimit, int64(r.CatchupLimit))
	dst = appendUint(dst, recurOverlap, uint64(r.Overlap))

	dst = appendString(dst, recurQueue, r.Queue)
	dst = appendUint(dst, recurPriority, uint64(r.Priority))
	dst = appendBool(dst, recurPaused, r.Paused)
	dst = appendInt(dst, recurPausedAt, int64(r.PausedAt))
	dst = appendInt(dst, recurLast, int64(r.Last))
	dst = appendInt(dst, recurCivil, int64(r.Civil))
	dst = appendInt(dst, recurNext, int64(r.Next))
	dst = appendInt(dst, recurWaiting, int64(r.Waiting))
	dst = appendInt(dst, recurRuns, r.Runs)
	dst = appendInt(dst, recurLimited, int64(r.Limited))
	for _, s := range r.Fired {
		dst = appendSpan(dst, recurFired, s, "")
	}
	if r.Skipped != (recurrence.Skip{}) {
		dst = appendSpan(dst, recurSkipped, r.Skipped.Span, r.Skipped.Why)
	}
	dst = appendString(dst, recurProblem, r.Problem)
	return appendString(dst, recurManagedBy, r.ManagedBy)
}

func appendSpan(dst []byte, num protowire.Number, s recurrence.Span, why string) []byte {
	return appendMessage(dst, num, func(dst []byte) []byte {
		dst = appendInt(dst, spanFrom, int64(s.From))
		dst = appendInt(dst, spanUntil, int64(s.Until))
		return appendString(dst, spanWhy, why)
	})
}

func recurField(r *task.Recurrence) func(field) error {
	return func(f field) error {
		switch f.num {
		case recurCron:
			r.Cron = f.text()
		case recurZone:
			r.Zone = f.text()
		case recurGap:
			r.Gap = cron.Gap(f.number)
		case recurFold:
			r.Fold = cron.Overlap(f.number)
		case recurEvery:
			r.Every = f.duration()
		case recurAnchor:
			r.Anchor = f.millis()
		case recurStart:
			r.Start = f.millis()
		case recurEnd:
			r.End = f.millis()
		case recurMaxRuns:
			r.MaxRuns = int64(f.int())
		case recurJitter:
			r.Jitter = f.duration()
		case recurMisfire:
			r.Misfire = recurrence.Misfire(f.number)
		case recurCatchupWindow:
			r.CatchupWindow = f.duration()
		case recurCatchupLimit:
			r.CatchupLimit = f.int()
		case recurOverlap:
			r.Overlap = recurrence.Overlap(f.number)
		default:
			return setRecurLife(r, f)
		}
		return nil
	}
}

func setRecurLife(r *task.Recurrence, f field) error {
	switch f.num {
	case recurQueue:
		r.Queue = string(f.bytes) // as that of a task
	case recurPriority:
		r.Priority = task.Priority(f.number)
	case recurPaused:
		r.Paused = f.bool()
	case recurPausedAt:
		r.PausedAt = f.millis()
	case recurLast:
		r.Last = f.millis()
	case recurCivil:
		r.Civil = cron.Civil(f.millis())
	case recurNext:
		r.Next = f.millis()
	case recurWaiting:
		r.Waiting = f.millis()
	case recurRuns:
		r.Runs = int64(f.int())
	case recurLimited:
		r.Limited = f.millis()
	case recurFired:
		s, err := span(f)
		r.Fired = append(r.Fired, s.Span)
		return err
	case recurSkipped:
		s, err := span(f)
		r.Skipped = s
		return err
	case recurProblem:
		r.Problem = f.text()
	case recurManagedBy:
		r.ManagedBy = f.text()
	}
	return nil
}

func span(f field) (s recurrence.Skip, err error) {
	err = eachField(f.bytes, f.copy, func(f field) error {
		switch f.num {
		case spanFrom:
			s.From = f.millis()
		case spanUntil:
			s.Until = f.millis()
		case spanWhy:
			s.Why = f.text()
		}
		return nil
	})
	return s, err
}
