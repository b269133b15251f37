package wheel

import (
	"fmt"
	"time"

	"github.com/foliot/foliot/bench/counters"
	"github.com/foliot/foliot/bench/metric"
	"github.com/foliot/foliot/bench/peer"
)

// accuracy sets a hundred timers and then pauses. Timers that it moves or
// removes after the pause have long delays, so that none of them fires before
// that.
const (
	handful = 100
	pause   = 5 * time.Millisecond
	longest = 250 * time.Millisecond
	safe    = 150 * time.Millisecond
)

// accuracy measures when timers fire while the machine has little to do. It
// sets n timers of 1 to 250 ms, at all phases of a tick. It moves every third
// one to an earlier or a later deadline, and removes every third one. A removed
// timer must not fire. Each other timer must fire exactly once.
func accuracy[H any](n int, open opener[H]) (metric.Values, error) {
	removed := 0
	for i := range n {
		if fateOf(i) == removedOne {
			removed++
		}
	}
	a := &accurate[H]{counters: counters.New(n, n-removed), random: 1, handles: make([]H, n)}
	a.timers = open(a.counters)
	defer a.timers.Close()
	for i := 0; i < n; i += handful {
		if err := a.handle(i, min(i+handful, n)); err != nil {
			return nil, err
		}
	}
	lost := a.counters.Wait(longest + patience/10)
	time.Sleep(longest) // removed timers that fire by mistake do so in this time
	values := metric.Values{}
	a.counters.Judge(values)
	values[metric.Lost] = float64(lost)
	values[undead] = float64(a.undead(n))
	values["early_percent"] = 100 * values[metric.Early] / values[metric.Fired]
	return values, nil
}

// undead is the name of the number of removed timers that fired.
const undead = "undead"

// fate selects the treatment of a timer, by its number.
type fate int

const (
	leftOne fate = iota
	movedOne
	removedOne
)

func fateOf(i int) fate { return fate(i % 3) }

type accurate[H any] struct {
	counters *counters.Counters
	timers   peer.Timers[H]
	random   random
	handles  []H
}

// handle sets the timers with numbers from `from` to before `to`. After a pause
// it moves and removes some of them.
func (a *accurate[H]) handle(from, to int) error {
	for i := from; i < to; i++ {
		d := a.between(time.Millisecond, longest)
		if fateOf(i) != leftOne {
			d = a.between(safe, longest)
		}
		a.counters.Expect(i, a.counters.Now()+d)
		a.handles[i] = a.timers.Set(d, i)
	}
	time.Sleep(pause)
	for i := from; i < to; i++ {
		if !a.seal(i) {
			return fmt.Errorf("timer %d ended long before its deadline", i)
		}
	}
	return nil
}

// seal leaves, moves or removes timer i. It reports false if that failed.
func (a *accurate[H]) seal(i int) (ok bool) {
	switch fateOf(i) {
	case movedOne:
		d := a.between(time.Millisecond, longest)
		a.counters.Expect(i, a.counters.Now()+d)
		return a.timers.Reset(a.handles[i], d)
	case removedOne:
		return a.timers.Remove(a.handles[i])
	default:
		return true
	}
}

func (a *accurate[H]) between(shortest, longest time.Duration) time.Duration {
	return shortest + time.Duration(a.random.below(int(longest-shortest)))
}

// undead returns the number of removed timers that fired.
func (a *accurate[H]) undead(n int) (count int) {
	for i := range n {
		if fateOf(i) == removedOne && a.counters.Fired(i) {
			count++
		}
	}
	return count
}
