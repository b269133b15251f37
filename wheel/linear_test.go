package wheel

import (
	"flag"
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"
)

var linearOps = flag.Int("linear.ops", 0, "operations of the linearizability test; 0: 3*10^6, or 40,000 in the short form")

func linearOperations() int { return howMany(*linearOps, 3_000_000, 0, 40_000) }

// A history holds the calls that goroutines made, the replies of the wheel, and
// the firings, which are operations without a caller. The wheel is correct if
// every history has an order, compatible with the clock, in which a sequential
// timer gives the same replies. Timers are independent, so each is checked
// alone: all of them together have such an order if and only if each of them
// has one.

type linearKind uint8

const (
	linearAdd linearKind = iota
	linearReset
	linearExtend
	linearRemove
	linearGet
	linearSee   // All yielded it
	linearDrain // Drain yielded it
	linearFire
)

var linearNames = [...]string{"Add", "Reset", "Extend", "Remove", "Get", "All", "Drain", "fire"}

// linearCall is one operation on one timer. All times are since the history
// began.
type linearCall struct {
	kind      linearKind
	timer     int
	d         time.Duration // the delay asked for
	call, ret time.Duration
	tick      time.Duration
}

// linearReply is the reply.
type linearReply struct {
	ok   bool
	left time.Duration // Get's
	due  time.Duration // of a firing: the deadline that the wheel reports
}

// linearState is a timer as its caller sees it. The wheel reads the clock
// between call and return, so the deadline is known as a range.
type linearState struct {
	phase   linearPhase
	from    time.Duration // the deadline is not before from
	through time.Duration // nor after through
}

type linearPhase uint8

const (
	timerUnborn linearPhase = iota
	timerPending
	timerGone
)

// step applies one operation. It returns false if a timer in this state cannot
// give this reply.
func (s linearState) step(in linearCall, out linearReply) (bool, linearState) {
	from := in.call + max(0, in.d)
	through := in.ret + max(0, in.d) + in.tick
	if in.d <= 0 {
		from -= in.tick // due at once: the tick that contains now
	}
	switch {
	case in.kind == linearAdd:
		return s.phase == timerUnborn && out.ok, linearState{timerPending, from, through}
	case out.ok != (s.phase == timerPending):
		return false, s
	case !out.ok:
		return true, s
	}
	switch in.kind {
	case linearReset:
		s.from, s.through = from, through
	case linearExtend:
		s.from, s.through = max(s.from, from), max(s.through, through)
	case linearGet:
		return out.left >= min(max(0, s.from-in.ret), s.from) && out.left <= max(0, s.through-in.call), s
	case linearRemove, linearDrain:
		s.phase = timerGone
	case linearFire:
		s.phase = timerGone
		return in.ret >= s.from && out.due >= s.from && out.due <= s.through, s
	}
	return true, s
}

var linearModel = porcupine.Model{
	Init: func() any { return linearState{} },
	Step: func(state, in, out any) (bool, any) {
		return state.(linearState).step(in.(linearCall), out.(linearReply))
	},
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		var timers [][]porcupine.Operation
		for _, op := range history {
			k := op.Input.(linearCall).timer
			for len(timers) <= k {
				timers = append(timers, nil)
			}
			timers[k] = append(timers[k], op)
		}
		return timers
	},
	DescribeOperation: func(in, out any) string {
		c, r := in.(linearCall), out.(linearReply)
		return fmt.Sprintf("%s(timer %d, %v) at %v..%v = %v, left %v, due %v",
			linearNames[c.kind], c.timer, c.d, c.call, c.ret, r.ok, r.left, r.due)
	},
}

// checkLinear returns the operations of a timer without such an order, or nil.
func checkLinear(history []porcupine.Operation) (wrong []porcupine.Operation) {
	if porcupine.CheckOperations(linearModel, history) {
		return nil
	}
	for _, timer := range linearModel.Partition(history) {
		if !porcupine.CheckOperations(linearModel, timer) {
			return timer
		}
	}
	return nil
}

func describeLinear(timer []porcupine.Operation) (s string) {
	for _, op := range timer {
		s += "\n\t" + linearModel.DescribeOperation(op.Input, op.Output)
	}
	return s
}
