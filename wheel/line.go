package wheel

// line is what waits for a worker of a Pool, first in, first out: a ring that grows. Those beyond the Pool's room are
// blocked: a Run waits with each of them, unless it has been let go.
type line struct {
	ring  []waiting // as long as a power of two
	first int
	n     int
}

type waiting struct {
	f        func()
	user     *poolUser     // the wheel that f belongs to, if it is blocked
	admitted chan struct{} // not nil while it is blocked; closed when it no longer is
}

// admit lets the Run go that waits with f.
func (w *waiting) admit() {
	if w.admitted != nil {
		close(w.admitted)
		w.admitted = nil
	}
}

// at returns the one that has this many before it.
func (l *line) at(place int) *waiting { return &l.ring[(l.first+place)&(len(l.ring)-1)] }

func (l *line) push(w waiting) {
	if l.n == len(l.ring) {
		l.grow()
	}
	l.n++
	*l.at(l.n - 1) = w
}

func (l *line) pop() func() {
	w := l.at(0)
	w.admit()
	f := w.f
	*w = waiting{}
	l.first = (l.first + 1) & (len(l.ring) - 1)
	l.n--
	return f
}

// admit lets those go that stand at this place or behind: all, or those of u.
func (l *line) admit(place int, u *poolUser) {
	for ; place < l.n; place++ {
		if w := l.at(place); u == nil || w.user == u {
			w.admit()
		}
	}
}

func (l *line) grow() {
	ring := make([]waiting, max(8, 2*len(l.ring)))
	for place := range l.n {
		ring[place] = *l.at(place)
	}
	l.ring, l.first = ring, 0
}

// keepWaiting is the length of a ring that an idle Pool keeps.
const keepWaiting = 64

// shrink gives the memory of a long line back that has come to its end.
func (l *line) shrink() {
	if len(l.ring) > keepWaiting {
		l.ring = nil
	}
}
