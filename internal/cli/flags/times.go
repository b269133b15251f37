package flags

import (
	"time"

	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/timespan"
	"github.com/foliot/foliot/internal/usage"
	"github.com/foliot/foliot/internal/wire"
)

// When set the due time of a task. Exactly one of In and At must be given.
type When struct {
	In       string `placeholder:"DURATION" help:"Due this long from now: 500ms, 90s, 1h30m, 3d."`
	At       string `placeholder:"TIME" help:"Due at this time, in RFC 3339: 2030-11-20T20:00:00Z. With --timezone, a local time: 2030-11-20 20:00."`
	TimeZone string `name:"timezone" placeholder:"ZONE" help:"The time zone of a local --at, such as Europe/Berlin. If a clock change skips the time, the task is due at the end of the gap. If the time occurs twice, the first one counts."`
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
	case f.In != "" && f.TimeZone != "":
		return at, 0, usage.Errorf("--timezone", "only --at has a time zone: leave it out")
	case f.In != "":
		delay, err = parseDuration("--in", f.In)
		return at, delay, err
	case f.At != "":
		at, err = f.parseAt()
		if ago := now.Sub(at); err == nil && ago > longPast {
			err = usage.Errorf("--at", "%s is %s ago; for a task that is due now, write --in 0s", f.At, timespan.Text(ago.Round(time.Second)))
		}
		return at, 0, err
	}
	return at, 0, usage.Errorf("--in, --at", "pass one of them: --in 5s, or --at 2030-11-20T20:00:00Z")
}

// parseAt parses --at, which is a local time if there is a --timezone.
func (f When) parseAt() (at time.Time, err error) {
	if f.TimeZone == "" {
		if _, err := cron.ParseLocal(f.At, "UTC"); err == nil {
			return at, usage.Errorf("--at", "%q is a local time: pass its --timezone, such as Europe/Berlin, or write 2030-11-20T20:00:00Z", f.At)
		}
		return parseTime("--at", f.At)
	}
	if _, err := cron.LoadZone(f.TimeZone); err != nil {
		return at, usage.Errorf("--timezone", "%v", err)
	}
	if at, err = cron.ParseLocal(f.At, f.TimeZone); err != nil {
		err = usage.Errorf("--at", "%v; with --timezone it is a local time", err)
	}
	return at, err
}

func parseDuration(flag, s string) (time.Duration, error) {
	d, err := timespan.Parse(s)
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
		return t, usage.Errorf(flag, "%q is not a time in RFC 3339; write 2030-11-20T20:00:00Z, or with --timezone 2030-11-20 20:00", s)
	}
	return t, nil
}

// ParseBound parses the bound of a filter: a time, a duration from now, which may be
// negative, or the last local time on a clock, such as 03:00. No text is the zero time.
func ParseBound(flag, s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := timespan.Parse(s); err == nil {
		return now.Add(d), nil
	}
	if t, err := time.Parse("15:04", s); err == nil {
		if at := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), 0, 0, now.Location()); !at.After(now) {
			return at, nil
		}
		return time.Date(now.Year(), now.Month(), now.Day()-1, t.Hour(), t.Minute(), 0, 0, now.Location()), nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return t, usage.Errorf(flag, "%q is neither a time (2030-11-20T20:00:00Z) nor a duration from now (10m, -1h, 0s), nor a local time (00:00 for the start of the day)", s)
	}
	return t, nil
}

// ParseNext is ParseBound, but a local time on a clock is the first one after a time,
// such as from, if that is set, or now.
func ParseNext(flag, s string, now, after time.Time) (time.Time, error) {
	t, err := time.Parse("15:04", s)
	if err != nil {
		return ParseBound(flag, s, now)
	}
	if after.Before(now) {
		after = now
	}
	after = after.In(now.Location())
	for day := after.Day(); ; day++ {
		if at := time.Date(after.Year(), after.Month(), day, t.Hour(), t.Minute(), 0, 0, after.Location()); at.After(after) {
			return at, nil
		}
	}
}
