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
	round := rounds{n: c.Connections, every: c.Every, start: time.Now()}
	err := round.until(c.Every, func(i int) error {
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
	_ = round.until(2*c.Every, touch)
	out.Bytes = float64(usage.Live()-before) / float64(c.Connections)
	begin, touched := usage.Now(), round.done
	_ = round.until(2*c.Every+c.Window, touch)
	end := usage.Now()
	out.CPU, out.Switches = end.CPU-begin.CPU, end.Switches-begin.Switches
	out.Touches = round.done - touched
	out.Asked = asked.Load()
	out.GC = usage.Collection()
	runtime.KeepAlive(all)
	return nil
}

// rounds visits each of n connections once in each round.
type rounds struct {
	n     int
	every time.Duration // duration of a round
	start time.Time
	done  int64 // visits
}

// until makes the visits that are due until a time after the start.
func (r *rounds) until(end time.Duration, visit func(i int) error) error {
	const nap = 10 * time.Millisecond
	for elapsed := time.Since(r.start); ; elapsed = time.Since(r.start) {
		for due := r.due(min(elapsed, end)); r.done < due; r.done++ {
			if err := visit(r.place(r.done)); err != nil {
				return err
			}
		}
		if elapsed >= end {
			return nil
		}
		time.Sleep(nap)
	}
}

func (r *rounds) due(elapsed time.Duration) int64 {
	return int64(float64(r.n) * float64(elapsed) / float64(r.every))
}

// place returns the connection for a visit. Each third of the connections has
// its third of a round, in another order each time. So the time between two
// visits is two thirds to four thirds of a round.
func (r *rounds) place(visit int64) int {
	round, at := int(visit/int64(r.n)), int(visit%int64(r.n))
	third := r.n/3 + 1
	first := at - at%third
	length := min(third, r.n-first)
	return first + ((at-first)*stride(length)+round*7919)%length
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
