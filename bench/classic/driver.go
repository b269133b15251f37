package classic

import "time"

// driver has the clock and the goroutine of a design. start starts the
// goroutine; Close stops it and waits.
type driver struct {
	base time.Time
	wake chan struct{} // holds a token if the next pass may be due earlier
	quit chan struct{}
	gone chan struct{} // closed by the goroutine at its end
}

func newDriver() driver {
	return driver{
		base: time.Now(),
		wake: make(chan struct{}, 1),
		quit: make(chan struct{}),
		gone: make(chan struct{}),
	}
}

// start calls pass repeatedly: after the time that pass returned, or earlier if
// hurry was called.
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

// Close stops the goroutine. Pending timers never fire. Close must not be
// called twice, nor by a callback.
func (d *driver) Close() {
	close(d.quit)
	<-d.gone
}
