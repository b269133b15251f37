package maintenance

import "time"

const (
	// roundEvery is the interval at which all schedules are checked, because zone
	// rules change with a new database, which package cron reads within an hour.
	roundEvery = time.Hour
	// roundSpread is the random part of the period, because nodes that share a
	// store and started together must not check at the same time forever.
	roundSpread = roundEvery / 4
	// roundAgain is the delay before a failed round is repeated.
	roundAgain = 10 * time.Second
	// stepSeen is the change of the difference between wall clock and monotonic
	// clock since the last round that counts as a clock step. Slow drift reaches
	// it after a while.
	stepSeen = time.Second
)

// roundTimer decides when all schedules are checked: at the start, once an
// hour, and after a step of the wall clock. It is pure: the readings of the
// wall clock and of a monotonic clock are arguments, as durations since any two
// fixed moments.
type roundTimer struct {
	ahead time.Duration // the wall clock minus the monotonic clock when the last round began
	next  time.Duration // the monotonic time of the next round
}

func newRoundTimer(wall, monotonic time.Duration) *roundTimer {
	return &roundTimer{ahead: wall - monotonic, next: monotonic}
}

// due reports whether a round must begin, and returns as step the change of the
// wall clock if the clock was set, otherwise 0.
func (r *roundTimer) due(wall, monotonic time.Duration) (step time.Duration, due bool) {
	if step = wall - monotonic - r.ahead; step.Abs() <= stepSeen {
		step = 0
	}
	return step, step != 0 || monotonic >= r.next
}

func (r *roundTimer) begin(wall, monotonic time.Duration, chance float64) {
	r.ahead = wall - monotonic
	r.next = monotonic + roundEvery - time.Duration(chance*float64(roundSpread))
}
