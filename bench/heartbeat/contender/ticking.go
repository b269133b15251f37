package contender

import "time"

// ticking calls a function in each period. startTicking starts its goroutine; Close
// stops it and waits.
type ticking struct{ quit, gone chan struct{} }

func startTicking(period time.Duration, f func()) ticking {
	t := ticking{make(chan struct{}), make(chan struct{})}
	go func() {
		defer close(t.gone)
		tick := time.NewTicker(period)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				f()
			case <-t.quit:
				return
			}
		}
	}()
	return t
}

func (t ticking) Close() {
	close(t.quit)
	<-t.gone
}
