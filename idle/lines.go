package idle

// lines are the connections that wait for a worker, one line for each step in which some came due. The lines take turns, so that
// a hundred thousand that came due together do not keep those waiting that come due after them.
type lines struct {
	all     []line // that are not empty
	turn    int    // whose it is
	waiting int
}

type line struct {
	step uint64
	jobs []job
	next int
}

// job is a connection to ask about.
type job struct {
	slot uint32
	seen uint32 // of one that is evicted: the step in which it was used last, when it was chosen
	why  why
}

type why uint8

const (
	becauseDue why = iota
	becauseIdlest
	becauseDraining
)

func (l *lines) push(j job, step uint64) {
	l.waiting++
	if n := len(l.all); n > 0 && l.all[n-1].step == step {
		l.all[n-1].jobs = append(l.all[n-1].jobs, j)
		return
	}
	l.all = append(l.all, line{step: step, jobs: []job{j}})
}

// pop takes the first job of the line whose turn it is. There must be one.
func (l *lines) pop() job {
	l.waiting--
	if l.turn >= len(l.all) {
		l.turn = 0
	}
	from := &l.all[l.turn]
	j := from.jobs[from.next]
	from.next++
	if from.next < len(from.jobs) {
		l.turn++
		return j
	}
	l.all = append(l.all[:l.turn], l.all[l.turn+1:]...)
	if len(l.all) == 0 {
		l.all = nil
	}
	return j
}
