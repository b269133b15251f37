package api

import (
	"fmt"

	"github.com/foliot/foliot/internal/api/decode"
	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/task"
)

// dueTime reads the fields of a request that set a due time.
type dueTime struct {
	at, zoned, delay bool // the fields that were given
	text, zone       string
	when             task.When
}

// read reads a field, and reports false if it does not set a due time.
func (d *dueTime) read(r *reader, key []byte) (known bool, err error) {
	switch string(key) {
	case "at":
		d.at = true
		d.text, err = r.textSuchAs("2030-01-02T15:04:05Z")
	case "timezone":
		d.zoned = true
		d.zone, err = r.Text()
	case "delay":
		d.delay = true
		d.when.Delay, err = r.duration()
	default:
		return false, nil
	}
	return true, err
}

// resolve returns the due time, after all fields were read.
func (d *dueTime) resolve() (task.When, error) {
	switch {
	case d.at && d.delay:
		return d.when, refuse("two_due_times", "delay", "cannot be combined with at")
	case d.zoned && !d.at:
		return d.when, refuse("conflict", "timezone", "only a local time in at has a time zone: leave it out, or send at")
	case d.at:
		var err error
		d.when.At, err = parseDue(d.text, d.zone, d.zoned)
		return d.when, err
	}
	d.when.Relative = d.delay
	return d.when, nil
}

// parseDue parses a time in RFC 3339 or, if zoned is set, a local time in zone.
func parseDue(text, zone string, zoned bool) (task.Millis, error) {
	t, err := parseTime("", text)
	if err == nil && !zoned {
		return task.CeilMillis(t), nil
	}
	local, notLocal := cron.ParseLocal(text, "UTC")
	switch {
	case !zoned && notLocal == nil:
		return 0, refuse("required", "timezone", "missing: at is a local time, so send its time zone, such as Europe/Berlin, or write at in RFC 3339: "+local.Format("2006-01-02T15:04:05Z"))
	case !zoned:
		return 0, decode.Within([]byte("at"), err)
	case err == nil:
		return 0, refuse("conflict", "timezone", "the time in at has a zone of its own: leave timezone out, or write at as a local time, such as "+t.Format("2006-01-02 15:04"))
	case notLocal != nil:
		return 0, refuse("bad_time", "at", fmt.Sprintf("%v; with timezone, at is a local time", notLocal))
	}
	if t, err = cron.ParseLocal(text, zone); err != nil {
		return 0, refuse("bad_timezone", "timezone", err.Error())
	}
	return task.CeilMillis(t), nil
}
