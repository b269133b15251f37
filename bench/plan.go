package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/foliot/foliot/bench/measure"
	"github.com/foliot/foliot/bench/peer"
	"github.com/foliot/foliot/bench/record"
)

// series is a workload with all variants to measure.
type series struct {
	workload   string
	what       string // for -list
	peers      []string
	ns         []int
	goroutines []int
	window     time.Duration
}

// whole lists the implementations without the variants of Foliot.
var whole = []string{
	peer.Time, peer.GoZero, peer.Heap, peer.Rounds, peer.Hands, peer.Buckets, peer.Foliot, peer.FoliotKeyed,
	peer.FoliotTimers,
}

func and(names ...string) []string { return append(slices.Clone(whole), names...) }

var (
	all  = []int{1_000, 100_000, 1_000_000, 10_000_000}
	once = []int{1} // goroutines
)

// full lists all measurements.
var full = []series{
	{
		measure.Floors, "lower bounds for every implementation", []string{peer.None}, []int{0}, once, 200 * time.Millisecond,
	},
	{
		measure.Accuracy, "when timers fire while there is little to do; each must fire once",
		and(peer.FoliotInline, peer.FoliotBatch),
		[]int{21_000},
		once, 0,
	},
	{
		measure.AddRemove, "a timer is set and removed at once, among n standing ones",
		and(peer.None), all, once, 500 * time.Millisecond,
	},
	{
		measure.Heartbeat, "a random one of n standing timers is extended",
		and(peer.FoliotReset, peer.None), all, once, 500 * time.Millisecond,
	},
	{
		measure.Hot, "the same one of n standing timers is extended each time",
		and(peer.FoliotReset, peer.None),
		[]int{1_000_000},
		once, 500 * time.Millisecond,
	},
	{
		measure.Replace, "a random one of n standing timers is removed, and another one set",
		and(peer.None), all, once, 500 * time.Millisecond,
	},
	{
		measure.Standing, "bytes of a standing timer, and a full garbage collection among n",
		and(peer.FoliotPointer), all, once, 0,
	},
	{
		measure.Million, "n timers are due within one second",
		and(peer.FoliotInline, peer.FoliotBatch),
		[]int{1_000_000},
		once, 0,
	},
	{
		measure.AddRemove, "", and(peer.None), []int{1_000_000}, []int{2, 64}, 500 * time.Millisecond,
	},
	{
		measure.Heartbeat, "", and(peer.FoliotReset, peer.None), []int{1_000_000}, []int{2, 64}, 500 * time.Millisecond,
	},
	{
		measure.Idle, "n standing timers, none of them due within ten seconds",
		and(peer.None),
		[]int{0, 100_000},
		once, 10 * time.Second,
	},
}

// tooMuch returns the reason to skip a measurement, or the empty string.
func tooMuch(workload, implementation string, n int) string {
	if implementation == peer.GoZero && n >= 10_000_000 {
		return "it would take 2.6 GB, and minutes for each measurement"
	}
	return ""
}

// options select a part of the measurements.
type options struct {
	workloads, peers []string // empty means all
	ns               []int    // empty means all
	trials           int
	quick            bool
}

// plan lists the jobs in the order of measurement, and the skipped ones.
type plan struct {
	groups  []group
	skipped []record.Skip
}

// group is a set of jobs that run at the same time. A group has several jobs
// only if they leave the machine idle.
type group []record.Job

// newPlan interleaves the trials: every implementation has its first trial
// before any has its second. So a change of the machine's speed affects all of
// them.
func newPlan(o options) plan {
	var p plan
	for _, s := range full {
		for _, n := range o.sizes(&s) {
			for _, g := range s.goroutines {
				p.add(o, &s, n, g)
			}
		}
	}
	return p
}

func (p *plan) add(o options, s *series, n, goroutines int) {
	if !o.wants(o.workloads, s.workload) {
		return
	}
	for trial := range o.trials {
		var atATime group
		for _, name := range s.peers {
			if !o.wants(o.peers, name) {
				continue
			}
			if why := tooMuch(s.workload, name, n); why != "" {
				if trial == 0 && goroutines == 1 {
					p.skipped = append(p.skipped, record.Skip{Workload: s.workload, Peer: name, N: n, Why: why})
				}
				continue
			}
			atATime = append(atATime, record.Job{
				Workload: s.workload, Peer: name, N: n, Goroutines: goroutines, Trial: trial + 1, Window: o.window(s),
			})
		}
		if s.workload == measure.Idle {
			p.groups = append(p.groups, atATime)
			continue
		}
		for _, j := range atATime {
			p.groups = append(p.groups, group{j})
		}
	}
}

// wants reports whether the list is empty or contains the name.
func (o options) wants(list []string, name string) bool {
	return len(list) == 0 || slices.Contains(list, name)
}

// sizes returns the selected numbers of timers of a series. Series with a
// single number keep it.
func (o options) sizes(s *series) (ns []int) {
	for _, n := range s.ns {
		switch {
		case len(s.ns) > 1 && s.workload != measure.Idle && len(o.ns) > 0 && !slices.Contains(o.ns, n):
		case o.quick && n > 100_000:
			if len(s.ns) == 1 {
				ns = append(ns, 100_000)
			}
		default:
			ns = append(ns, n)
		}
	}
	return ns
}

func (o options) window(s *series) time.Duration {
	if !o.quick {
		return s.window
	}
	return s.window / 10
}

// expected returns the approximate duration of a job, including the start of
// its process.
func expected(j record.Job) time.Duration {
	d := 50*time.Millisecond + time.Duration(j.N)*450*time.Nanosecond
	switch j.Workload {
	case measure.Standing:
		d += time.Duration(j.N) * 500 * time.Nanosecond
	case measure.Million:
		d += 2*time.Second + time.Duration(j.N)*2*time.Microsecond
	case measure.Idle:
		d += time.Second + j.Window
	case measure.Accuracy:
		d += time.Duration(j.N) * 100 * time.Microsecond
	case measure.Floors:
		d += 2*time.Second + 15*j.Window
	default:
		d += j.Window
	}
	return d
}

// expected returns the duration of the group's longest job.
func (g group) expected() (longest time.Duration) {
	for _, j := range g {
		longest = max(longest, expected(j))
	}
	return longest
}

func (p *plan) expected() (sum time.Duration) {
	for _, g := range p.groups {
		sum += g.expected()
	}
	return sum
}

// check returns an error if an option is unknown or out of range.
func (o options) check() error {
	for _, name := range o.workloads {
		if !slices.ContainsFunc(full, func(s series) bool { return s.workload == name }) {
			return fmt.Errorf("there is no workload %q; -list shows all", name)
		}
	}
	for _, name := range o.peers {
		if _, ok := peer.Find(name); !ok {
			return fmt.Errorf("there is no implementation %q; -list shows all", name)
		}
	}
	for _, n := range o.ns {
		if !slices.Contains(all, n) {
			return fmt.Errorf("n is %d, must be one of %d", n, all)
		}
	}
	if o.trials < 1 {
		return fmt.Errorf("trials is %d, must be at least 1", o.trials)
	}
	return nil
}
