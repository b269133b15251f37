package wheel

import (
	"math"
	"math/bits"
	"time"
)

const maxDuration = time.Duration(1<<63 - 1)

// now returns the time since the base. The first call sets the base.
func (s *settings[T]) now() time.Duration {
	if !s.started.Load() {
		s.start()
	}
	return time.Since(s.base)
}

func (s *settings[T]) start() {
	s.starting.Lock()
	defer s.starting.Unlock()
	if !s.started.Load() {
		s.base = time.Now()
		s.started.Store(true)
	}
}

// after returns the tick for a delay d, where now is the current time since the
// base. It rounds up: slot k fires at base + k*tick or later, so no timer fires
// early. A timer that is due at once gets the current tick, so it does not
// wait.
func (s *settings[T]) after(now, d time.Duration) (tick uint64) {
	if d <= 0 {
		return s.floor(now)
	}
	at := plus(now, d)
	tick = uint64(at) / uint64(s.tick) // unsigned and only once, because divisions are slow
	if tick*uint64(s.tick) != uint64(at) {
		tick++
	}
	return tick
}

// afterWith is after for a When without At.
func (s *settings[T]) afterWith(now time.Duration, when When) (tick uint64) {
	tick = s.after(now, when.After)
	if when.After > 0 {
		tick = s.coarsen(tick, when.Slack)
	}
	return tick
}

// plus adds two times that are not negative, and saturates.
func plus(a, b time.Duration) time.Duration {
	sum := a + b
	if sum < 0 {
		sum = maxDuration
	}
	return sum
}

// floor returns the tick that contains now.
func (s *settings[T]) floor(now time.Duration) uint64 { return uint64(now) / uint64(s.tick) }

// instant returns the start of a tick as the time since the base, saturated.
func (s *settings[T]) instant(tick uint64) time.Duration {
	if tick > s.lastTick {
		return maxDuration
	}
	return time.Duration(tick) * s.tick
}

// coarsen rounds a tick up to a multiple of the largest power of two within
// slack. So the timer skips the levels with narrower slots and shares its slot
// with more timers.
func (s *settings[T]) coarsen(tick uint64, slack time.Duration) uint64 {
	if slack/2 < s.tick { // not 2*s.tick, which may overflow
		return tick
	}
	step := uint64(1) << (bits.Len64(uint64(slack/s.tick)) - 1)
	return min((tick+step-1)&^(step-1), maxTick)
}

// The wall clock is counted in ticks since 1970, and an earlier time is treated
// as 1970. A timer for a time after the last tick never fires; that tick is in
// the year 10889 for ticks of 1 ms, and in 2861 for ticks of 100 µs.

// wallCeil returns the first tick that starts at or after t.
func (s *settings[T]) wallCeil(t time.Time) uint64 {
	tick, rest := s.wallTick(t)
	if rest > 0 {
		tick++
	}
	return min(tick, maxTick)
}

// wallFloor returns the tick that contains t.
func (s *settings[T]) wallFloor(t time.Time) uint64 {
	tick, _ := s.wallTick(t)
	return min(tick, maxTick-1)
}

func (s *settings[T]) wallTick(t time.Time) (tick, rest uint64) {
	seconds := t.Unix()
	if seconds < 0 {
		return 0, 0
	}
	hi, lo := bits.Mul64(uint64(seconds), uint64(time.Second))
	lo, carry := bits.Add64(lo, uint64(t.Nanosecond()), 0)
	hi += carry
	if hi >= uint64(s.tick) { // Div64 would overflow; far beyond maxTick
		return maxTick, 0
	}
	return bits.Div64(hi, lo, uint64(s.tick))
}

// latest is the last second that package time can compare with others. Later
// ones, such as time.Unix(math.MaxInt64, 0), count as before all others there.
var latest = time.Unix(math.MaxInt64+time.Time{}.Unix(), 0)

// atMostLatest returns t, or latest if t is after it.
func atMostLatest(t time.Time) time.Time {
	if t.Unix() > latest.Unix() { // Unix undoes the wrap of time.Unix
		return latest
	}
	return t
}

// wallInstant returns the start of a tick of the wall clock, saturated.
func (s *settings[T]) wallInstant(tick uint64) time.Time {
	hi, lo := bits.Mul64(tick, uint64(s.tick))
	if hi >= uint64(time.Second)/2 { // the seconds would overflow
		return latest
	}
	seconds, nanos := bits.Div64(hi, lo, uint64(time.Second))
	return atMostLatest(time.Unix(int64(seconds), int64(nanos)))
}
