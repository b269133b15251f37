package main

import (
	"slices"
	"time"

	"github.com/foliot/foliot/bench/measure"
	"github.com/foliot/foliot/bench/peer"
	"github.com/foliot/foliot/bench/program"
	"github.com/foliot/foliot/bench/record"
)

const (
	million = 1_000_000
	tenfold = 10_000_000
	crew    = 64 // goroutines at the same time
)

// series is a workload with all its sizes. A job of one size has few timers if
// it is quick.
type series struct {
	part    string
	ns      []int
	callers int
	window  time.Duration
}

var all = []series{
	{measure.Accuracy, []int{21_000}, 1, 0},
	{measure.AddRemove, []int{1000, million, tenfold}, 1, 500 * time.Millisecond},
	{measure.AddRemove, []int{million}, crew, 500 * time.Millisecond},
	{measure.Heartbeat, []int{1000, million, tenfold}, 1, 500 * time.Millisecond},
	{measure.Replace, []int{1000, million, tenfold}, 1, 500 * time.Millisecond},
	{measure.Standing, []int{1000, million, tenfold}, 1, 0},
	{measure.Million, []int{million}, 1, 0},
}

// plan lists the jobs. It interleaves the trials: every implementation has its
// first trial before any has its second. So a change of the machine's speed
// affects all of them.
func plan(s *program.Settings) (jobs []record.Job) {
	trials := 3
	if s.Quick {
		trials = 1
	}
	for _, x := range all {
		for _, n := range x.ns {
			if s.Quick {
				n = min(n, 1000)
			}
			for trial := range trials {
				for _, name := range s.Contenders {
					j := record.Job{Part: x.part, Contender: name, N: n, Callers: x.callers, Over: x.window, Trial: trial + 1}
					if s.Wants(x.part) && measured(&j) && !slices.Contains(jobs, j) {
						jobs = append(jobs, j)
					}
				}
			}
		}
	}
	return jobs
}

// measured reports whether an implementation has a workload. With ten million
// timers go-zero would take 2.6 GB, and minutes for each measurement.
func measured(j *record.Job) bool {
	fires := j.Part == measure.Million || j.Part == measure.Accuracy
	switch j.Contender {
	case peer.None:
		return !fires
	case peer.FoliotBatch: // it differs from Foliot only when timers fire
		return fires
	case peer.GoZero:
		return j.N < tenfold
	}
	return true
}

// expected is about how long a job takes, with the start of its process.
func expected(j *record.Job) time.Duration {
	d := 50*time.Millisecond + time.Duration(j.N)*450*time.Nanosecond
	switch j.Part {
	case measure.Standing:
		return d + time.Duration(j.N)*500*time.Nanosecond
	case measure.Million:
		return d + 2*time.Second + time.Duration(j.N)*2*time.Microsecond
	case measure.Accuracy:
		return d + time.Duration(j.N)*100*time.Microsecond
	}
	return d + j.Over
}
