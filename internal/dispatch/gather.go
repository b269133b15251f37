package dispatch

import "time"

// gatherer spaces the calls of one goroutine to the store, so that tasks that
// come soon after each other share a call. After a quiet time a call begins at
// once. The space adapts: a call that had only one task halves it, and a call
// that had several doubles it. So a queue that runs one attempt at a time does
// not wait for others in vain.
type gatherer struct {
	most  time.Duration // the largest space between the beginnings of two calls; zero means no space
	space time.Duration
	began time.Duration // when the last call began, by the monotonic clock; zero means never
}

// gatherSteps is the ratio of the largest space to the smallest.
const gatherSteps = 16

// left returns how long the next call has to wait.
func (g *gatherer) left(now time.Duration) time.Duration {
	if g.began == 0 {
		return 0
	}
	return max(g.began+g.space-now, 0)
}

// begin records the beginning of a call with a number of tasks.
func (g *gatherer) begin(now time.Duration, tasks int) {
	g.began = now
	if tasks > 1 {
		g.space = min(2*max(g.space, g.most/gatherSteps), g.most)
	} else {
		g.space = max(g.space/2, g.most/gatherSteps)
	}
}
