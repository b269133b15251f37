package task

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// TestMain lets tests define their own time zones: package time looks at
// ZONEINFO first, and reads that variable once.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "foliot-zones")
	if err == nil {
		err = os.Setenv("ZONEINFO", dir)
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// clocks is a rule of a zone: an offset from UTC and its start.
type clocks struct {
	from  Millis
	ahead time.Duration
}

// zone gives Test/Town other rules. LoadZone reads a zone again after an hour.
func zone(t *testing.T, rules ...clocks) {
	t.Helper()
	b := append([]byte("TZif"), make([]byte, 16)...)
	for _, n := range []int{0, 0, 0, len(rules), len(rules), 4} {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	for _, r := range rules {
		b = binary.BigEndian.AppendUint32(b, uint32(r.from/1000))
	}
	for i := range rules {
		b = append(b, byte(i))
	}
	for _, r := range rules {
		b = append(binary.BigEndian.AppendUint32(b, uint32(int32(r.ahead/time.Second))), 0, 0)
	}
	b = append(b, "TST\x00"...)
	dir := filepath.Join(os.Getenv("ZONEINFO"), "Test")
	fatal.If(t, os.MkdirAll(dir, 0o700))
	fatal.If(t, os.WriteFile(filepath.Join(dir, "Town"), b, 0o600))
	time.Sleep(61 * time.Minute) // in a bubble
}

// utc returns an instant of a day in June.
func utc(day, hour, minute int) Millis {
	return Millis(time.Date(2027, time.June, day, hour, minute, 0, 0, time.UTC).UnixMilli())
}

// TestAChangeOfAZonesRulesRepeatsAndLosesNoInstant: if the rules change between
// two instants of a schedule, no evening is repeated or left out, and the next
// instant moves with the clocks. In each row the clocks were two hours ahead of
// UTC until noon of the 2nd, so that 21:00 was 19:00 UTC.
func TestAChangeOfAZonesRulesRepeatsAndLosesNoInstant(t *testing.T) {
	before := clocks{utc(1, 0, 0), 2 * time.Hour}
	for _, c := range []struct {
		name  string
		cron  string
		rules []clocks // the rules that are known later
		known Millis   // the time from which they are known
		want  []Millis // the instants fired from the 1st to the 4th
	}{
		{
			"as they were", "0 21 * * *", nil, utc(2, 12, 0),
			[]Millis{utc(1, 19, 0), utc(2, 19, 0), utc(3, 19, 0), utc(4, 19, 0)},
		},
		{
			"behind: the next evening comes later", "0 21 * * *",
			[]clocks{{utc(2, 12, 0), time.Hour}},
			utc(2, 11, 0),
			[]Millis{utc(1, 19, 0), utc(2, 20, 0), utc(3, 20, 0), utc(4, 20, 0)},
		},
		{
			"ahead: it comes sooner", "0 21 * * *",
			[]clocks{{utc(2, 12, 0), 3 * time.Hour}},
			utc(2, 11, 0),
			[]Millis{utc(1, 19, 0), utc(2, 18, 0), utc(3, 18, 0), utc(4, 18, 0)},
		},
		{
			"ahead, and known too late: it is made up for", "0 21 * * *",
			[]clocks{{utc(2, 12, 0), 3 * time.Hour}},
			utc(2, 18, 30),
			[]Millis{utc(1, 19, 0), utc(2, 18, 0), utc(3, 18, 0), utc(4, 18, 0)},
		},
		{
			"behind, and known when nine o'clock was: an evening has one", "0 21 * * *",
			[]clocks{{utc(2, 12, 0), time.Hour}},
			utc(2, 19, 30),
			[]Millis{utc(1, 19, 0), utc(2, 19, 0), utc(3, 20, 0), utc(4, 20, 0)},
		},
		{
			"each hour is an hour, whatever the clocks show", "0 */12 * * *",
			[]clocks{{utc(2, 12, 30), time.Hour}},
			utc(2, 12, 0),
			[]Millis{utc(1, 10, 0), utc(1, 22, 0), utc(2, 10, 0), utc(2, 23, 0), utc(3, 11, 0), utc(3, 23, 0), utc(4, 11, 0), utc(4, 23, 0)},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				zone(t, before)
				s := putAt(t, utc(1, 1, 0), nil, everySpec(0, rule(func(r *recurrence.Rule) { r.Cron, r.Zone = c.cron, "Test/Town" })))
				var got []Millis
				for now := utc(1, 1, 0); now < utc(5, 0, 0); now += 60_000 {
					if now == c.known {
						zone(t, append([]clocks{before}, c.rules...)...)
						s = checkAt(t, now, s)
					}
					r, err := fireOnce(now, s, 0)
					if err != nil {
						continue
					}
					if s = r.Task; r.Spawned != nil {
						_, at, _ := OccurrenceOf(r.Spawned.Name)
						got = append(got, at)
					}
				}
				if fmt.Sprint(got) != fmt.Sprint(c.want) {
					for _, at := range got {
						t.Log(at.Time())
					}
					t.Errorf("got %v, want %v", got, c.want)
				}
			})
		})
	}
}
