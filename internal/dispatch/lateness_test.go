package dispatch

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestLatenessIsThatOfTheLastMinute(t *testing.T) {
	var w window
	if got := w.summary(0); got != (Lateness{}) {
		t.Errorf("nothing was sent: %+v", got)
	}
	w.record(0, time.Hour)
	var late []time.Duration
	for i := range 5000 {
		d := time.Duration(rand.Int64N(int64(50 * time.Millisecond)))
		late = append(late, d)
		w.record(75*time.Second+time.Duration(i)*10*time.Millisecond, d)
	}
	slices.Sort(late)
	got := w.summary(125 * time.Second)
	if got.Count != 5000 || got.Max != late[4999] {
		t.Errorf("%+v", got)
	}
	for _, c := range []struct {
		name      string
		got, want time.Duration
	}{{"p50", got.P50, late[2500]}, {"p90", got.P90, late[4500]}, {"p99", got.P99, late[4950]}} {
		if c.got < c.want || c.got > c.want*107/100+20 {
			t.Errorf("%s is %v, want %v to 7 %% more", c.name, c.got, c.want)
		}
	}
	if got := w.summary(time.Hour); got != (Lateness{}) {
		t.Errorf("an hour later: %+v", got)
	}
	w.record(0, 1000*time.Hour) // must fit
}
