package cli

import (
	"os"
	"testing"
	"testing/synctest"
	"time"
)

func TestASecondSignalWithin200MillisecondsDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals, began := make(chan os.Signal), time.Now()
		var stopped, ended time.Duration
		go func() {
			awaitSecond(signals, func() { stopped = time.Since(began) })
			ended = time.Since(began)
		}()
		for _, at := range []time.Duration{time.Second, time.Second + time.Millisecond, time.Second + 199*time.Millisecond, 3 * time.Second} {
			time.Sleep(time.Until(began.Add(at)))
			signals <- os.Interrupt
			synctest.Wait()
		}
		if stopped != time.Second || ended != 3*time.Second {
			t.Errorf("it began to stop after %v, and ended after %v", stopped, ended)
		}
	})
}
