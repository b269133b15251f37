package watchdog

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/foliottest"
)

func TestAMachineIsReportedOnceAMinuteAfterItsLastHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reports atomic.Int32
		mux := new(foliot.Mux)
		Handle(mux, func(context.Context, string) error { reports.Add(1); return nil })
		node := foliottest.Start(t, mux)
		for life := range int32(2) {
			for range 20 {
				if err := Heartbeat(t.Context(), node, "m1"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(50 * time.Second)
				synctest.Wait()
			}
			if n := reports.Load(); n != life {
				t.Fatalf("%d reports while it lives", n)
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			if n := reports.Load(); n != life+1 {
				t.Fatalf("%d reports after its end", n)
			}
		}
	})
}
