// Package virtual loads a group with virtual connections: a million of them
// fit, and only the group has a cost.
package virtual

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/bench/record"
	"github.com/foliot/foliot/bench/usage"
	"github.com/foliot/foliot/idle"
)

// Load is a child process. Its methods are those of package rpc.
type Load struct{}

// The ways in which a crowd is watched. The difference between them is the cost
// of a group without the touches.
const (
	Near = "near" // a timeout of twice the time between two touches
	Far  = "far"  // a timeout that never passes: touches cost the same, and no connection is due
)

// CrowdConfig describes connections that are used all the time.
type CrowdConfig struct {
	Connections int
	Watch       string
	Every       time.Duration // time between two touches of a connection: two thirds to four thirds of it
	Window      time.Duration // time of the measurement, which starts after twice Every
}

// The names of values of a crowd, besides those of package record. The CPU is that of the
// process in the window, and the bytes include the group.
const (
	Touches = "touches"
	Asked   = "asked" // connections that were taken for idle, always wrongly
)

// virtual is a connection.
type virtual struct{ idle.Entry }

// Crowd touches connections one after another for the whole time.
func (*Load) Crowd(c CrowdConfig, out *record.Values) error {
	var asked atomic.Int64
	before := usage.Live()
	all := make([]virtual, c.Connections)
	config := idle.Config{ReadIdle: 2 * c.Every}
	if c.Watch == Far {
		config.ReadIdle = 1000 * time.Hour
	}
	group := idle.New(config, func(*virtual, idle.Reason) idle.Verdict {
		asked.Add(1)
		return idle.Keep
	})
	defer group.Close()
	round := Rounds{N: c.Connections, Every: c.Every, Nap: 10 * time.Millisecond, Start: time.Now()}
	err := round.Until(c.Every, func(i int) error { return group.Track(&all[i], &all[i].Entry) })
	if err != nil {
		return err
	}
	touch := func(i int) error {
		all[i].TouchRead()
		return nil
	}
	_ = round.Until(2*c.Every, touch)
	bytes := float64(usage.Live()-before) / float64(c.Connections)
	begin, touched := usage.Now(), round.Done
	_ = round.Until(2*c.Every+c.Window, touch)
	end := usage.Now()
	*out = record.Values{
		record.CPUMs: millis(end.CPU - begin.CPU), record.Switches: float64(end.Switches - begin.Switches), record.Bytes: bytes,
		record.GCMs: millis(usage.Collection()), Touches: float64(round.Done - touched), Asked: float64(asked.Load()),
	}
	runtime.KeepAlive(all)
	return nil
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Rounds visits each of N connections once in each round.
type Rounds struct {
	N     int
	Every time.Duration // duration of a round
	Nap   time.Duration // time between two groups of visits
	Start time.Time
	Done  int64 // visits

	length, stride int // of the part of a round that was visited last
}

// Until makes the visits that are due until a time after the start.
func (r *Rounds) Until(end time.Duration, visit func(i int) error) error {
	for elapsed := time.Since(r.Start); ; elapsed = time.Since(r.Start) {
		if err := r.Visits(int(r.due(min(elapsed, end))-r.Done), visit); err != nil {
			return err
		}
		if elapsed >= end {
			return nil
		}
		time.Sleep(r.Nap)
	}
}

// Visits makes n visits at once.
func (r *Rounds) Visits(n int, visit func(i int) error) error {
	for range n {
		if err := visit(r.place(r.Done)); err != nil {
			return err
		}
		r.Done++
	}
	return nil
}

func (r *Rounds) due(elapsed time.Duration) int64 {
	return int64(float64(r.N) * float64(elapsed) / float64(r.Every))
}

// place returns the connection for a visit. Each third of the connections has
// its third of a round, in another order each time. So the time between two
// visits is two thirds to four thirds of a round.
func (r *Rounds) place(visit int64) int {
	round, at := int(visit/int64(r.N)), int(visit%int64(r.N))
	third := r.N/3 + 1
	first := at - at%third
	if length := min(third, r.N-first); length != r.length {
		r.length, r.stride = length, stride(length)
	}
	return first + ((at-first)*r.stride+round*7919)%r.length
}

// stride returns a number that shares no factor with n, so that its multiples
// visit everything below n.
func stride(n int) int {
	for s := n*5/8 | 1; ; s += 2 {
		if gcd(s, n) == 1 {
			return s
		}
	}
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
