// Package virtual loads a group with virtual connections: a million of them
// fit, and only the group has a cost.
package virtual

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/bench/usage"
	"github.com/foliot/foliot/idle"
)

// Load is a child process. Its methods are those of package rpc.
type Load struct{}

// Watch is the way in which a crowd is watched.
type Watch string

// The ways. The difference between the first and the others is the cost of a
// group without the touches.
const (
	Near  Watch = "near"  // a timeout of twice the time between two touches
	Far   Watch = "far"   // a timeout that never passes: touches cost the same, and no connection is due
	Loose Watch = "loose" // no group, and touches that do nothing
)

// CrowdConfig describes connections that are used all the time.
type CrowdConfig struct {
	Connections int
	Watch       Watch
	Every       time.Duration // time between two touches of a connection: two thirds to four thirds of it
	Window      time.Duration // time of the measurement, which starts after twice Every
}

// Crowd is the result.
type Crowd struct {
	Watch       Watch         `json:"watch"`
	Connections int           `json:"connections"`
	Window      time.Duration `json:"window"`
	CPU         time.Duration `json:"cpu"` // of the process, in the window
	Switches    int64         `json:"switches"`
	Touches     int64         `json:"touches"`
	Asked       int64         `json:"asked"` // connections that were taken for idle, always wrongly
	Bytes       float64       `json:"bytes"` // heap bytes for each connection, including the group
	GC          time.Duration `json:"gc"`    // a full collection, the fastest of five
}

// virtual is a connection.
type virtual struct{ idle.Entry }

// Crowd touches connections one after another for the whole time.
func (*Load) Crowd(c CrowdConfig, out *Crowd) error {
	*out = Crowd{Watch: c.Watch, Connections: c.Connections, Window: c.Window}
	var asked atomic.Int64
	before := usage.Live()
	all := make([]virtual, c.Connections)
	var group *idle.Group[*virtual]
	if c.Watch != Loose {
		config := idle.Config{ReadIdle: 2 * c.Every}
		if c.Watch == Far {
			config.ReadIdle = 1000 * time.Hour
		}
		group = idle.New(config, func(*virtual, idle.Reason) idle.Verdict {
			asked.Add(1)
			return idle.Keep
		})
		defer group.Close()
	}
	round := Rounds{N: c.Connections, Every: c.Every, Nap: 10 * time.Millisecond, Start: time.Now()}
	err := round.Until(c.Every, func(i int) error {
		if group == nil {
			return nil
		}
		return group.Track(&all[i], &all[i].Entry)
	})
	if err != nil {
		return err
	}
	touch := func(i int) error {
		all[i].TouchRead()
		return nil
	}
	_ = round.Until(2*c.Every, touch)
	out.Bytes = float64(usage.Live()-before) / float64(c.Connections)
	begin, touched := usage.Now(), round.Done
	_ = round.Until(2*c.Every+c.Window, touch)
	end := usage.Now()
	out.CPU, out.Switches = end.CPU-begin.CPU, end.Switches-begin.Switches
	out.Touches = round.Done - touched
	out.Asked = asked.Load()
	out.GC = usage.Collection()
	runtime.KeepAlive(all)
	return nil
}

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
