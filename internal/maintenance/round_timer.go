package maintenance

import "time"

const (
	// roundEvery is how often all schedules are looked at: the rules of zones change with a
	// new database, which cron reads within an hour.
	roundEvery = time.Hour
	// roundSpread is the part of it that is left to chance: nodes that share a store and
	// were started together do not all look at once for ever.
	roundSpread = roundEvery / 4
	// roundAgain is after what time a round that failed is begun again.
	roundAgain = 10 * time.Second
	// stepSeen is by how much the wall clock must have gone another way than the steady one
	// since the last round for that to be a step. Clocks that drift apart come to it, too.
	stepSeen = time.Second
)

// rounds decides when all schedules are to be looked at: at the start, once an hour, and
// after a step of the wall clock. It is pure: it is told what both clocks show, the wall clock
// and one that never steps, as durations since any two moments.
type rounds struct {
	ahead time.Duration // of the wall clock before the steady one, when the last round began
	next  time.Duration // when the next one begins, by the steady clock
}

func newRounds(wall, steady time.Duration) *rounds {
	return &rounds{ahead: wall - steady, next: steady}
}

// due reports whether a round is to begin, and by how much the wall clock stepped, 0: it did not.
func (r *rounds) due(wall, steady time.Duration) (step time.Duration, due bool) {
	if step = wall - steady - r.ahead; step.Abs() <= stepSeen {
		step = 0
	}
	return step, step != 0 || steady >= r.next
}

// begin notes that a round begins. chance lies in [0, 1).
func (r *rounds) begin(wall, steady time.Duration, chance float64) {
	r.ahead = wall - steady
	r.next = steady + roundEvery - time.Duration(chance*float64(roundSpread))
}

// failed notes that the round that was begun last came to no end.
func (r *rounds) failed(steady time.Duration) { r.next = steady + roundAgain }
