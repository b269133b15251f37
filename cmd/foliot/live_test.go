package main

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestLatenessIsThatOfTheLastMinute(t *testing.T) {
	var w lateWindow
	start := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	if got := w.summary(start); got != nil {
		t.Errorf("nothing was sent: %+v", got)
	}
	w.record(start, time.Hour)
	var late []time.Duration
	for i := range 5000 {
		d := time.Duration(rand.Int64N(int64(50 * time.Millisecond)))
		late = append(late, d)
		w.record(start.Add(75*time.Second+time.Duration(i)*10*time.Millisecond), d)
	}
	slices.Sort(late)
	got := w.summary(start.Add(125 * time.Second))
	if got.Count != 5000 || got.MaxMS != msOf(late[4999]) {
		t.Errorf("%+v", got)
	}
	for _, c := range []struct {
		name string
		got  float64
		want time.Duration
	}{{"p50", got.P50MS, late[2500]}, {"p90", got.P90MS, late[4500]}, {"p99", got.P99MS, late[4950]}} {
		if want := msOf(c.want); c.got < want || c.got > want*1.07+0.02 {
			t.Errorf("%s is %v, want %v to 7 %% more", c.name, c.got, want)
		}
	}
	if got := w.summary(start.Add(time.Hour)); got != nil {
		t.Errorf("an hour later: %+v", got)
	}
	w.record(start, 1000*time.Hour) // must fit
}

func BenchmarkLateness(b *testing.B) {
	var w lateWindow
	now := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		w.record(now, 3*time.Millisecond)
	}
}
