package activity

import (
	"time"

	"github.com/foliot/foliot/internal/task"
)

// The history has figures for each Step of the last steps·Step.
const (
	Step  = 10 * time.Second
	steps = 360
)

const step = task.Millis(Step / time.Millisecond)

// maxPast bounds the figures of single namespaces: 28 namespaces with attempts
// in each step have a history of an hour.
const maxPast = 10_000

// LateBounds are the upper bounds of the buckets of both delays, in milliseconds, but
// the last bucket has no bound.
var LateBounds = [...]int64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 60_000}

// figures count the attempts that ended in a step.
type figures struct {
	At          task.Millis                 // the beginning of the step
	Late        [len(LateBounds) + 1]uint32 // by task.Outcome.Late
	Waited      [len(LateBounds) + 1]uint32 // by task.Outcome.Waited
	Delivered   uint32
	Failed      uint32
	Snoozed     uint32 // the receiver asked for a later attempt
	Refused     uint32 // 410, Foliot-No-Retry, or denied by the egress guard
	Interrupted uint32 // stopped with the server
	LostLeases  uint32 // the lease was lost, so the task is sent again
	Dead        uint32 // tasks that died
	Overdue     uint32 // the largest number of due tasks that waited
}

// add counts one attempt.
func (f *figures) add(o *task.Outcome, after *task.Task) {
	f.Late[lateBucket(o.Late)]++
	f.Waited[lateBucket(o.Waited)]++
	if after != nil && after.State == task.Dead {
		f.Dead++
	}
	switch v := o.Verdict; {
	case after == nil:
		f.LostLeases++
	case v == task.Success:
		f.Delivered++
	case v == task.Snooze:
		f.Snoozed++
	case v == task.Refusal:
		f.Refused++
	case v == task.Interrupted:
		f.Interrupted++
	default:
		f.Failed++
	}
}

func lateBucket(d time.Duration) int {
	for i, bound := range LateBounds {
		if d <= time.Duration(bound)*time.Millisecond {
			return i
		}
	}
	return len(LateBounds)
}

// history has the figures of the present step and of past ones, for all
// namespaces together and for each of them.
type history struct {
	began   task.Millis // the first step
	present task.Millis
	all     [steps]figures      // by the number of the step, modulo steps
	byName  map[string]*figures // of the present step, by namespace
	past    []namespaceFigures  // the oldest first
}

type namespaceFigures struct {
	namespace string
	figures
}

func stepOf(at task.Millis) task.Millis { return at - at%step }

func (h *history) slot(at task.Millis) *figures {
	return &h.all[at/step%steps]
}

// setBack is the largest distance by which a clock may be set back while the history
// stays in the present step, and beyond which it starts again.
const setBack = task.Millis(time.Minute / time.Millisecond)

// step moves the history to the step of a time.
func (h *history) step(at task.Millis) {
	at = stepOf(at)
	switch {
	case at < h.present-setBack:
		*h = history{began: at, byName: map[string]*figures{}}
	case at <= h.present:
		return
	}
	for namespace, f := range h.byName {
		h.past = append(h.past, namespaceFigures{namespace, *f})
	}
	clear(h.byName)
	h.present = at
	*h.slot(at) = figures{At: at}
	oldest := at - (steps-1)*step
	drop := max(0, len(h.past)-maxPast)
	for drop < len(h.past) && h.past[drop].At < oldest {
		drop++
	}
	h.past = append(h.past[:0], h.past[drop:]...)
}

// of returns the present figures of a namespace.
func (h *history) of(namespace string) *figures {
	f := h.byName[namespace]
	if f == nil {
		f = &figures{At: h.present}
		h.byName[namespace] = f
	}
	return f
}

// figures returns the figures of the steps that begin at a time or later, the earliest
// first, and the time from which they are complete. The empty namespace means all of
// them, and a step without attempts and overdue tasks is missing.
func (h *history) figures(namespace string, from task.Millis) (list []figures, since task.Millis) {
	since = max(h.began, h.present-(steps-1)*step)
	if namespace == "" {
		for at := max(stepOf(from+step-1), since); at <= h.present; at += step {
			if f := *h.slot(at); f.At == at && f != (figures{At: at}) {
				list = append(list, f)
			}
		}
		return list, since
	}
	if len(h.past) >= maxPast {
		since = max(since, h.past[0].At+1) // figures of this step may be missing
	}
	for i := range h.past {
		if p := &h.past[i]; p.namespace == namespace && p.At >= from {
			list = append(list, p.figures)
		}
	}
	if f := h.byName[namespace]; f != nil && f.At >= from {
		list = append(list, *f)
	}
	return list, since
}
