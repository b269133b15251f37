package flags

import (
	"time"

	"github.com/foliot/foliot/internal/usage"
	"github.com/foliot/foliot/internal/wire"
)

// When set the due time of a task. Exactly one must be given.
type When struct {
	In string `placeholder:"DURATION" help:"Due this long from now: 500ms, 90s, 1h30m."`
	At string `placeholder:"TIME" help:"Due at this time, in RFC 3339: 2030-11-20T20:00:00Z."`
}

// longPast is how far --at may lie in the past. The time may come from another
// clock, or the user may have typed it a moment ago.
const longPast = time.Minute

// Resolve checks the flags and returns a time or a delay. It refuses a time
// that is long past, which is usually a mistake.
func (f When) Resolve(now time.Time) (at time.Time, delay time.Duration, err error) {
	switch {
	case f.In != "" && f.At != "":
		return at, 0, usage.Errorf("--in, --at", "pass only one of them")
	case f.In != "":
		delay, err = parseDuration("--in", f.In)
		return at, delay, err
	case f.At != "":
		at, err = parseTime("--at", f.At)
		if ago := now.Sub(at); err == nil && ago > longPast {
			err = usage.Errorf("--at", "%s is %v ago; for a task that is due now, write --in 0s", f.At, ago.Round(time.Second))
		}
		return at, 0, err
	}
	return at, 0, usage.Errorf("--in, --at", "pass one of them: --in 5s, or --at 2030-11-20T20:00:00Z")
}

// parseDuration parses a duration that is not negative.
func parseDuration(flag, s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return 0, usage.Errorf(flag, notDuration, s)
	case d < 0:
		return 0, usage.Errorf(flag, "%q is negative", s)
	}
	return d, nil
}

func parseTime(flag, s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	switch {
	case err != nil && wire.IsLeapSecond(s):
		return t, usage.Errorf(flag, "%q is a leap second, which is not accepted: write the next second, 00:00:00", s)
	case err != nil:
		return t, usage.Errorf(flag, "%q is not a time in RFC 3339; write 2030-11-20T20:00:00Z or 2030-11-20T20:00:00.250+01:00", s)
	}
	return t, nil
}

// ParseBound parses the bound of a filter: a time, or a duration from now. The
// duration may be negative. No text is the zero time.
func ParseBound(flag, s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(s); err == nil {
		return now.Add(d), nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return t, usage.Errorf(flag, "%q is neither a time (2030-11-20T20:00:00Z) nor a duration from now (10m, -1h, 0s)", s)
	}
	return t, nil
}
