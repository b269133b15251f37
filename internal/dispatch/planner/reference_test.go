package planner

import (
	"slices"

	"github.com/foliot/foliot/internal/task"
)

// judge returns the lane that must be served next by the rules as written. It
// looks at all lanes. From the planner it takes the known tasks and the turns
// of each lane. It does not use the trees, nor the state of any limit. It does
// not know that a lane is ready if the wake-up of that lane was lost.
func (w *world) judge() *lane {
	var best *lane
	for _, name := range w.lanes {
		l := w.planner.lanes[name]
		if l != nil && w.mayRun(l) && (best == nil || slices.Compare(w.rank(l), w.rank(best)) < 0) {
			best = l
		}
	}
	return best
}

// rank returns the values to compare, the most important first.
func (w *world) rank(l *lane) []int64 {
	q, t := l.queue, l.queue.namespace
	since := l.earliest()
	if q.settings.Rate == 0 {
		since = max(since, l.served)
	}
	if l.name.Priority == task.Quarantine {
		return []int64{-1, int64(q.lastQuarantinePick), int64(q.number), int64(since), int64(l.lastPick), int64(l.number)}
	}
	routine := int64(1)
	if l.name.Priority == task.RunNow {
		routine = 0
	}
	return []int64{
		0, int64(t.since), int64(t.number), int64(q.since), int64(q.number),
		routine, routine * q.bands[l.name.Priority].pass, int64(l.name.Priority), int64(since), int64(l.lastPick), int64(l.number),
	}
}

func (w *world) mayRun(l *lane) bool { return w.mayRunButForSlots(l) && w.hasSlot(l) }

func (w *world) mayRunButForSlots(l *lane) bool {
	t, s := l.destination, l.queue.settings
	if l.name.Priority == task.Quarantine && w.count(inQuarantine) > 0 {
		return false
	}
	urgent := l.name.Priority == task.RunNow
	switch {
	case l.schedules() || l.state == waiting || l.order.len() == 0 || l.earliest() > w.now:
		return false
	case w.lossy > 0 && (l.state == blocked || l.queue.wakeup.IsSet() && !urgent): // time has ended the wait, and the wake-up was lost
		return false
	case w.monotonic < t.restUntil, !urgent && (w.monotonic < t.retryAt || t.breaker.open && (w.monotonic < t.breaker.until || t.breaker.probe != 0)):
		return false
	case w.suspended[l.name.Namespace]:
		return false
	case !t.runs:
		return false
	case !urgent && (l.queue.held || w.lossy == 0 && s.Held(w.now)):
		return false
	case !urgent && s.Rate > 0 && l.queue.bucket.next(w.monotonic) > w.monotonic:
		return false
	case s.Concurrency > 0 && w.count(func(p *Pick) bool { return p.lane.queue == l.queue }) >= s.Concurrency:
		return false
	case s.PerDestination > 0 && w.count(func(p *Pick) bool { return p.lane.queueDestination == l.queueDestination }) >= s.PerDestination:
		return false
	}
	most := (w.planner.choose.slots.all + 1) / 2
	if t.kind != nil {
		most = w.planner.config.Handlers
	}
	return w.count(func(p *Pick) bool { return p.lane == l }) < most
}

// kindMayRun reports whether a kind may run once more, in any namespace.
func (w *world) kindMayRun(kind string) bool {
	most := w.planner.config.Kinds[kind]
	return most == 0 || w.count(func(p *Pick) bool { return task.KindOf(p.lane.name.Destination) == kind }) < most
}

// hasShare reports whether l's queue has fewer attempts under way than its
// share.
func (w *world) hasShare(l *lane) bool {
	spaces, queues := map[string]map[string]bool{}, 0
	for _, name := range w.lanes {
		if m := w.planner.lanes[name]; m != nil && name.Priority != task.Quarantine && w.mayRunButForSlots(m) {
			if spaces[name.Namespace] == nil {
				spaces[name.Namespace] = map[string]bool{}
			}
			if !spaces[name.Namespace][name.Queue] {
				queues++
			}
			spaces[name.Namespace][name.Queue] = true
		}
	}
	all := (w.planner.choose.slots.all - w.planner.choose.slots.all/8) / len(spaces)
	if queues == 1 {
		all /= 2
	}
	return w.count(func(p *Pick) bool { return p.lane.queue == l.queue })*len(spaces[l.name.Namespace]) < all
}

// hasSlot applies the rules of slots.
func (w *world) hasSlot(l *lane) bool {
	all, class := w.planner.choose.slots.all, l.destination.class
	handlers := w.count(func(p *Pick) bool { return p.class == handler })
	if class == handler {
		return handlers < w.planner.config.Handlers && w.kindMayRun(task.KindOf(l.name.Destination))
	}
	pool := max([]int{all, all * 3 / 4, all / 4}[class], 1)
	left := all - (len(w.picks) - handlers)
	last, scarce, lent := pool/16, pool/8, pool/2
	if class != proven {
		left = min(left, max(all*3/4, 1)-w.count(func(p *Pick) bool { return p.class.doubtful() }))
		last, scarce, lent = 0, pool/2, pool-pool/8
	}
	if class == suspect {
		left = min(left, pool-w.count(func(p *Pick) bool { return p.class == suspect }))
	}
	if l.name.Priority == task.Quarantine {
		return left > 0
	}
	if class != proven && w.count(func(p *Pick) bool { return p.lane.queue == l.queue && p.class == class })/3 >= left {
		return false
	}
	running := w.count(func(p *Pick) bool { return p.lane == l })
	switch {
	case running >= l.allowance:
		return running-l.allowance+lent < left
	case class == proven && left > 0 && w.hasShare(l):
		return true
	case running == 0:
		return last < left
	}
	return running < left && scarce < left
}

func inQuarantine(p *Pick) bool { return p.lane.name.Priority == task.Quarantine }

func (w *world) count(is func(*Pick) bool) int {
	n := 0
	for _, p := range w.picks {
		if is(p) {
			n++
		}
	}
	return n
}
