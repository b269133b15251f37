package dispatch

import (
	"slices"
	"time"

	"github.com/foliot/foliot/internal/task"
)

const (
	// reserve is what every lane may know of, however full the window is: lanes
	// that hang must not keep others from being read.
	reserve = 32
	// farChunk and scanChunk bound one read of one lane, firstChunk the one
	// that finds out whether there is much: where a namespace calls a hundred
	// thousand hosts, most lanes have a task or two, and reads for which 512
	// are set aside are four to a Peek.
	farChunk, scanChunk, firstChunk = 512, 64, 8
	// peekChunk bounds one Peek: what it brings is taken in under the lock.
	peekChunk = 2048
)

// agenda is the near future: the waiting tasks that are known, by lane, and the
// decision which of them may be claimed. It is pure: it is told what time it
// is, asks for reads and is given what they found, and names the moments at
// which it wants to be asked again.
//
// Of a lane it knows of another task only while it knows of fewer than there
// is room left: one lane alone comes to half of the window, k lanes to one part
// in k+1 each, and as much is left for the next one. For slots see there.
type agenda struct {
	window time.Duration
	tasks  int // of the window

	lanes   map[task.Lane]*lane
	targets map[targetKey]*target
	taken   map[task.Key]bool // picked, and a read may still see it waiting; true: its claim was answered
	number  uint64
	seq     uint64 // counts what is learnt
	total   int    // tasks known
	checked task.Millis

	slots   slots
	turn    uint64  // counts picks
	hungry  []*lane // want to be read
	stirred []*lane // whose wake has changed
}

func newAgenda(window time.Duration, tasks, slots int) *agenda {
	return &agenda{
		window: window, tasks: tasks, slots: newSlots(slots),
		lanes: map[task.Lane]*lane{}, targets: map[targetKey]*target{}, taken: map[task.Key]bool{},
	}
}

// hint takes in that a task waits, or waits for another time than before.
func (a *agenda) hint(now task.Millis, e task.Entry) {
	a.seq++
	l := a.lanes[e.Lane]
	if e.Due > now.Add(a.window) {
		if l != nil && l.known[e.Name] != nil { // moved away: it will be read when it comes near
			a.forget(l, l.known[e.Name])
			a.place(l, now)
		}
		return
	}
	if l == nil {
		l = a.open(e.Lane)
	}
	a.learn(l, e, a.seq)
	a.place(l, now)
}

// offer is a hint of which nothing newer can be held back: it is taken in only
// where nothing is known of the task.
func (a *agenda) offer(now task.Millis, e task.Entry) {
	if l := a.lanes[e.Lane]; l == nil || l.known[e.Name] == nil {
		a.hint(now, e)
	}
}

// learn takes in an entry that was true as of seq, and reports whether it is
// news. The caller places the lane.
func (a *agenda) learn(l *lane, e task.Entry, seq uint64) bool {
	if it := l.known[e.Name]; it != nil {
		return a.correct(l, it, e.Due, seq)
	}
	if l.left(e.Position()) {
		return false
	}
	if a.room(l) < 1 {
		a.total -= l.shed()
		if l.left(e.Position()) {
			return false
		}
	}
	it := &item{name: e.Name, due: e.Due, seq: seq}
	l.known[e.Name] = it
	l.order.push(it)
	a.total++
	return true
}

// correct moves a task that is known to another time.
func (a *agenda) correct(l *lane, it *item, due task.Millis, seq uint64) bool {
	if it.seq > seq {
		return false
	}
	it.seq = seq
	if it.due == due {
		return false
	}
	it.due = due
	if l.left(it.position()) {
		a.forget(l, it)
		return true
	}
	l.order.fix(it)
	return true
}

func (a *agenda) forget(l *lane, it *item) {
	l.order.remove(it)
	delete(l.known, it.name)
	a.total--
}

// room returns how many more tasks l may know of.
func (a *agenda) room(l *lane) int {
	n := l.order.len()
	return max(reserve-n, (a.tasks-a.total-n)/2, 0)
}

func (a *agenda) open(name task.Lane) *lane {
	key := targetKey{name.Namespace, name.Destination}
	t := a.targets[key]
	if t == nil {
		t = &target{key: key}
		a.targets[key] = t
	}
	a.number++
	l := &lane{name: name, number: a.number, target: t, known: map[string]*item{}, allowance: a.slots.base()}
	t.lanes = append(t.lanes, l)
	a.lanes[name] = l
	return l
}

// withdraw makes the window end where it ends now that the clock has stepped
// back: hints beyond that were ignored.
func (a *agenda) withdraw(l *lane, now task.Millis) {
	end := task.Position{Due: now.Add(a.window) + 1}
	if end.Less(l.cursor) {
		l.cursor = end
	}
	a.total -= l.trim(end)
	l.served = min(l.served, now)
	a.place(l, now)
}

// rememberFor is how long an empty lane is kept that has proved itself, so that
// its next task does not begin from nothing.
const rememberFor = time.Minute

// remember reports whether an empty lane is to be kept.
func (a *agenda) remember(l *lane, now task.Millis) bool {
	if l.emptied == 0 {
		l.emptied = now
	}
	return l.allowance > a.slots.base() && max(now-l.emptied, l.emptied-now) < task.Millis(rememberFor.Milliseconds())
}

// check looks at everything that a wake-up was to bring, whatever became of it:
// the wall clock may have stepped. It also lets go of lanes that are empty. It
// must not be called while reads are under way.
func (a *agenda) check(now task.Millis) {
	back := max(a.checked-now, 0)
	a.checked = now
	for name, l := range a.lanes {
		if back > 0 {
			a.withdraw(l, now)
		}
		switch {
		case l.state == waiting && l.wake <= now:
			a.look(l, now)
		case l.state == idle && l.running == 0 && !l.hungry && !a.remember(l, now):
			delete(a.lanes, name)
			i := slices.Index(l.target.lanes, l)
			l.target.lanes = slices.Delete(l.target.lanes, i, i+1)
		}
	}
	for key, t := range a.targets {
		if back > 0 && t.until > now { // a pause is a duration: the clock's step back does not prolong it
			a.pause(t, now, max(t.until-back, now))
		}
		if len(t.lanes) == 0 && t.until <= now {
			delete(a.targets, key)
		}
	}
}
