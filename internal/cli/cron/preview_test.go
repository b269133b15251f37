package cron

import (
	"bytes"
	"testing"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
)

// Lines have the same columns in each zone. A terminal shows equal times once.
func TestATerminalShowsTheTimeOfUTCOnce(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 0, 0, 0, time.UTC)
	utc, berlin := client.Instant{At: at, Local: at}, client.Instant{At: at, Local: at.In(time.FixedZone("", 3600))}
	for _, c := range []struct {
		terminal bool
		list     []client.Instant
		want     string
	}{
		{true, []client.Instant{utc}, "LOCAL, UTC                DAY\n2030-01-02T03:00:00.000Z  Wednesday\n"},
		{true, []client.Instant{berlin}, "LOCAL                      UTC                       DAY\n2030-01-02T04:00:00+01:00  2030-01-02T03:00:00.000Z  Wednesday\n"},
		{false, []client.Instant{utc}, "2030-01-02T03:00:00Z\t2030-01-02T03:00:00.000Z\tWednesday\n"},
		{false, []client.Instant{berlin}, "2030-01-02T04:00:00+01:00\t2030-01-02T03:00:00.000Z\tWednesday\n"},
	} {
		var out bytes.Buffer
		if err := printInstants(&console.Console{Out: &out, OutTerm: c.terminal}, c.list); err != nil || out.String() != c.want {
			t.Errorf("%v: got\n%swant\n%s", err, out.String(), c.want)
		}
	}
}
