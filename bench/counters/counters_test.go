package counters

import (
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/bench/metric"
)

func TestLatenessCountsFromTheDueTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(4, 3)
		for i := range 4 {
			a.Expect(i, time.Duration(i)*time.Second)
		}
		time.Sleep(time.Second)
		a.Fire(0)
		a.Func(1)()
		a.FireAt(2, 1500*time.Millisecond) // a batch shares a reading of the clock
		a.Fire(2)
		if missing := a.Wait(0); missing != 0 {
			t.Errorf("%d missing", missing)
		}
		v := metric.Values{}
		a.Judge(v)
		want := metric.Values{metric.Fired: 3, metric.Lost: 0, metric.Doubled: 1, metric.Early: 1, metric.P50Ms: 0, metric.P99Ms: 1000, metric.MaxMs: 1000}
		if !maps.Equal(v, want) {
			t.Errorf("got %v, want %v", v, want)
		}
		if first, last, rate := a.Span(); first != time.Second || last != 1500*time.Millisecond || rate != 4 {
			t.Errorf("from %v to %v, %v a second", first, last, rate)
		}
	})
}

func TestWaitReturnsTheNumberOfMissingTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(3, 3)
		a.Fire(1)
		if missing := a.Wait(time.Minute); missing != 2 {
			t.Errorf("%d missing, want 2", missing)
		}
		v := metric.Values{}
		if a.Judge(v); v[metric.Lost] != 2 || v[metric.Fired] != 1 {
			t.Errorf("%v", v)
		}
	})
}
