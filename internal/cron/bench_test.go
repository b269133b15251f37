package cron

import (
	"testing"
	"time"
)

// Two cores of an AMD EPYC, go1.26.8: go test -run '^$' -bench . ./internal/cron
//
//	                                  tables to 2037   rules alone (ZONEINFO=$(go env GOROOT)/lib/time/zoneinfo.zip)
//	daily, weekdays, quarter, seconds     80-110 ns     110-560 ns
//	a change of clocks on the way        100-190 ns     350-1360 ns
//	29 February, four years away             260 ns     1.1 µs
//	eight years away                         980 ns     1.3 µs
//	Parse                                    650 ns
//
// Nothing but Parse allocates.
var benched = []struct{ name, text, zone, at string }{
	{"daily", "0 21 * * *", "Europe/Berlin", "2026-11-22T12:00:00Z"},
	{"weekdays", "30 8 * * MON-FRI", "America/New_York", "2026-11-20T22:00:00Z"},
	{"quarter", "*/15 9-17 * * *", "Europe/Berlin", "2026-07-01T16:50:00Z"},
	{"seconds", "*/5 * * * * *", "Europe/Berlin", "2026-07-01T16:50:00Z"},
	{"monthly", "0 0 L * *", "Asia/Kolkata", "2026-11-01T00:00:00Z"},
	{"second-monday", "0 9 * * MON#2", "Europe/Berlin", "2026-11-10T00:00:00Z"},
	{"utc", "0 0 * * *", "UTC", "2026-11-22T12:00:00Z"},
	{"2060", "0 21 * * *", "Europe/Berlin", "2060-11-22T12:00:00Z"},
	{"spring", "30 2 * * *", "Europe/Berlin", "2027-03-27T12:00:00Z"},
	{"autumn", "30 2 * * *", "Europe/Berlin", "2027-10-30T12:00:00Z"},
	{"leap-day", "0 0 29 2 *", "Europe/Berlin", "2028-03-01T12:00:00Z"},
	{"leap-day-8y", "0 0 29 2 *", "Europe/Berlin", "2096-03-01T12:00:00Z"},
	{"leap-day-sunday", "0 0 29 2 */7", "Europe/Berlin", "2032-03-01T12:00:00Z"},
}

func BenchmarkNext(b *testing.B) {
	for _, row := range benched {
		b.Run(row.name, func(b *testing.B) {
			r, at := benchRule(b, row.text, row.zone, row.at)
			b.ReportAllocs()
			for b.Loop() {
				r.Next(at)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("*/15 9-17 * * MON-FRI"); err != nil {
			b.Fatal(err)
		}
	}
}

func benchRule(tb testing.TB, text, zone, at string) (Rule, time.Time) {
	tb.Helper()
	when, err := time.Parse(time.RFC3339, at)
	if err != nil {
		tb.Fatal(err)
	}
	return Rule{Expr: mustParse(tb, text), Zone: mustZone(tb, zone)}, when
}

func TestASearchAllocatesNothing(t *testing.T) {
	for _, row := range benched {
		r, at := benchRule(t, row.text, row.zone, row.at)
		if n := testing.AllocsPerRun(10, func() {
			r.Next(at)
			r.Prev(at)
			r.Resume(at, r.Civil(at))
		}); n != 0 {
			t.Errorf("%s: %v allocations", row.name, n)
		}
	}
}
