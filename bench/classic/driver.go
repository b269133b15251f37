package classic

import "time"

// driver is the clock and the goroutine of each design. start starts it, Close stops it and waits.
type driver struct {
	base time.Time
	wake chan struct{} // holds a token when the next pass may have to be earlier
	quit chan struct{}
	gone chan struct{} // closed by the goroutine as it ends
}

func newDriver() driver {
	return driver{
		base: time.Now(),
		wake: make(chan struct{}, 1),
		quit: make(chan struct{}),
		gone: make(chan struct{}),
	}
}

// start calls pass, again and again, each time after as long as the last one returned, or when hurry was called.
func (d *driver) start(pass func() time.Duration) {
	go func() {
		defer close(d.gone)
		alarm := time.NewTimer(forever)
		defer alarm.Stop()
		for {
			alarm.Reset(pass())
			select {
			case <-alarm.C:
			case <-d.wake:
			case <-d.quit:
				return
			}
		}
	}()
}

func (d *driver) now() time.Duration { return time.Since(d.base) }

func (d *driver) hurry() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Close ends the goroutine. What is pending never fires. It must not be called twice, or by a callback.
func (d *driver) Close() {
	close(d.quit)
	<-d.gone
}
