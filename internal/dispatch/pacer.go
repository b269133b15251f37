package dispatch

import "time"

// pacer limits how often one goroutine calls the store, so that tasks that come
// soon after each other share a call. After a quiet time or a full call, the
// next call begins at once. The interval adapts: a call with one task halves it,
// and a call with several tasks doubles it. So a queue that runs one attempt at
// a time soon does not wait at all.
type pacer struct {
	maxInterval time.Duration // between the beginnings of two calls; zero means that no call waits
	interval    time.Duration
	began       time.Duration // when the last call began, by the monotonic clock; zero means that the next one need not wait
}

// gatherSteps is the ratio of the longest interval to the shortest one above zero.
const gatherSteps = 16

// left returns how long the next call has to wait.
func (p *pacer) left(now time.Duration) time.Duration {
	if p.began == 0 {
		return 0
	}
	return max(p.began+p.interval-now, 0)
}

// begin records the beginning of a call with a number of tasks. full is the
// largest number.
func (p *pacer) begin(now time.Duration, tasks, full int) {
	p.began = now
	switch shortest := p.maxInterval / gatherSteps; {
	case tasks >= full:
		p.began = 0
	case tasks > 1:
		p.interval = min(max(2*p.interval, shortest), p.maxInterval)
	case p.interval <= shortest:
		p.interval = 0
	default:
		p.interval /= 2
	}
}
