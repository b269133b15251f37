package dispatch

import "time"

// gatherer spaces the calls of one goroutine to the store, so that tasks that
// come soon after each other share a call. After a quiet time a call begins at
// once, and also after a call with as many tasks as possible. The space adapts: a
// call that had only one task halves it, and a call that had several doubles it.
// So a queue that runs one attempt at a time soon does not wait at all.
type gatherer struct {
	most  time.Duration // the largest space between the beginnings of two calls; zero means no space
	space time.Duration
	began time.Duration // when the last call began, by the monotonic clock; zero means that the next one need not wait
}

// gatherSteps is the ratio of the largest space to the smallest one above zero.
const gatherSteps = 16

// left returns how long the next call has to wait.
func (g *gatherer) left(now time.Duration) time.Duration {
	if g.began == 0 {
		return 0
	}
	return max(g.began+g.space-now, 0)
}

// begin records the beginning of a call with a number of tasks. full is the
// largest number.
func (g *gatherer) begin(now time.Duration, tasks, full int) {
	g.began = now
	switch smallest := g.most / gatherSteps; {
	case tasks >= full:
		g.began = 0
	case tasks > 1:
		g.space = min(max(2*g.space, smallest), g.most)
	case g.space <= smallest:
		g.space = 0
	default:
		g.space /= 2
	}
}
