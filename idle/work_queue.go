package idle

// workQueue holds the connections that wait for a worker, grouped by the step
// in which they came due. The groups take turns, so 100,000 connections that
// came due together do not delay those that come due later.
type workQueue struct {
	steps   []stepJobs // never empty ones
	turn    int        // index of the next in steps
	waiting int
}

type stepJobs struct {
	step uint64
	jobs []job
	next int
}

// job is a connection for which the callback is due.
type job struct {
	slot uint32
	seen uint32 // for an eviction: the step of the last use when it was chosen
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

// pop takes a job of the next step in turn, which must exist.
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
