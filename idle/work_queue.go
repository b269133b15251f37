package idle

// lines are the connections that wait for a worker, one line for each step in which some came due. The lines take turns, so that
// a hundred thousand that came due together do not keep those waiting that come due after them.
type workQueue struct {
	steps   []stepJobs // that are not empty
	turn    int        // index of the next in steps
	waiting int
}

type stepJobs struct {
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

func (q *workQueue) push(j job, step uint64) {
	q.waiting++
	if n := len(q.steps); n > 0 && q.steps[n-1].step == step {
		q.steps[n-1].jobs = append(q.steps[n-1].jobs, j)
		return
	}
	q.steps = append(q.steps, stepJobs{step: step, jobs: []job{j}})
}

// pop takes the first job of the line whose turn it is. There must be one.
func (q *workQueue) pop() job {
	q.waiting--
	if q.turn >= len(q.steps) {
		q.turn = 0
	}
	from := &q.steps[q.turn]
	j := from.jobs[from.next]
	from.next++
	if from.next < len(from.jobs) {
		q.turn++
		return j
	}
	q.steps = append(q.steps[:q.turn], q.steps[q.turn+1:]...)
	if len(q.steps) == 0 {
		q.steps = nil
	}
	return j
}
