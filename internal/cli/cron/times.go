package cron

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/flags"
	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/task/recurrence"
	"github.com/foliot/foliot/internal/usage"
)

// parseDay is flags.ParseBound for the times of a schedule. It also accepts a date,
// and returns the time at which that day begins in the schedule's zone, but no clock. It
// calls zone only for a date.
func parseDay(flag, s string, now time.Time, zone func() (*time.Location, error)) (time.Time, error) {
	if _, err := time.Parse("15:04", s); err == nil { // flags.ParseBound reads it on this machine's clock
		return time.Time{}, usage.Errorf(flag, "%q has no date: use a time (2030-11-20T20:00:00Z), a day (2030-11-20) or a duration from now (10m)", s)
	}
	day, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return flags.ParseBound(flag, s, now)
	}
	if y := day.Year(); y < 1970 || y > 2399 {
		return time.Time{}, usage.Errorf(flag, "%q is not a day of the years 1970 to 2399", s)
	}
	in, err := zone()
	if err != nil {
		return time.Time{}, err
	}
	return cron.Midnight(day, in), nil
}

// zoneNamed returns the argument zone of parseDay for the value of a flag; ""
// means UTC.
func zoneNamed(name string) func() (*time.Location, error) {
	return func() (*time.Location, error) {
		zone, err := cron.LoadZone(cmp.Or(name, recurrence.DefaultZone))
		if err != nil {
			err = usage.Errorf("--timezone", "%s", err)
		}
		return zone, err
	}
}

// zoneOf returns the argument zone of parseDay for a schedule on the server.
func zoneOf(ctx context.Context, api *client.Client, name string) func() (*time.Location, error) {
	return func() (*time.Location, error) {
		s, err := api.Schedules.Get(ctx, name)
		if err != nil {
			return nil, err
		}
		zone, err := cron.LoadZone(cmp.Or(s.TimeZone, recurrence.DefaultZone))
		if err != nil {
			err = fmt.Errorf("schedule %s: %w", name, err)
		}
		return zone, err
	}
}
