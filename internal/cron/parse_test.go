package cron

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

func TestEqualExpressionsMeanTheSame(t *testing.T) {
	for _, row := range []struct{ text, same string }{
		{"@yearly", "0 0 1 1 *"},
		{"@monthly", "0 0 1 * ?"},
		{"@Daily", "0 0 0 * * *"},
		{"@hourly", "0 */1 * * *"},
		{"5/15 * * * *", "5,20,35,50 * * * *"},
		{"10-50/20 * * * *", "10,30,50 * * * *"},
		{"0 0 * * 5-7", "0 0 * * FRI-SUN"},
		{"0 0 * * FRI-MON", "0 0 * * 5,6,0,1"},
		{"0 0 * * FRI-MON/2", "0 0 * * 5,7"},
		{"0 0 * * SUN-SUN", "0 0 * * SUN"},
		{"0 0 * * */7", "0 0 * * 7"},
		{"0 0 * * 7l", "0 0 * * SUNL"},
		{"0 0 * * 7#1", "0 0 * * 0#1"},
		{"0 0 L-0,1 * *", ""},
		{"*/60 * * * *", "0 * * * *"},
	} {
		e, err := Parse(row.text)
		if row.same == "" {
			if err == nil {
				t.Errorf("%q is taken", row.text)
			}
			continue
		}
		fatal.If(t, err)
		if got, want := meaning(e), meaning(mustParse(t, row.same)); got != want {
			t.Errorf("%q means %s, and %q %s", row.text, got, row.same, want)
		}
	}
}

func TestFixedIsWithoutAStarInMinuteAndHour(t *testing.T) {
	for text, want := range map[string]bool{
		"0 21 * * *": true, "0,30 9-17 * * *": true, "0-59 0-23 * * *": true, "0/15 1/2 * * *": true,
		"* * 21 * * *": false, "*/5 0 21 * * *": true, "@daily": true,
		"@hourly": false, "0 * * * *": false, "* 21 * * *": false, "0 */2 * * *": false, "@every 1h": false,
	} {
		if got := mustParse(t, text).Fixed(); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestEvery(t *testing.T) {
	e := mustParse(t, "  @every   1m30s ")
	if every, ok := e.Every(); !ok || every != 90*time.Second || e.String() != "@every 1m30s" {
		t.Errorf("%v %v %q", every, ok, e)
	}
	if _, ok := mustParse(t, "@daily").Every(); ok {
		t.Error("@daily has an interval")
	}
}

func TestParseErrorsNameTheFieldAndTheAllowedValues(t *testing.T) {
	for _, row := range []struct{ text, field, quote, says string }{
		{"", "expression", "", "five fields are minute"},
		{"* * * *", "expression", "* * * *", "it has 4 fields:"},
		{"0 0 1 1 * 2026 2027", "expression", "0 0 1 1 * 2026 2027", "years are not supported"},
		{"CRON_TZ=Europe/Berlin 0 0 * * *", "expression", "CRON_TZ=Europe/Berlin 0 0 * * *", "time zone"},
		{"60 * * * *", "minute", "60", `"60" is not 0-59`},
		{"* * * 13 *", "month", "13", "1-12 or JAN-DEC"},
		{"* * * * 8", "day-of-week", "8", "0-7 or SUN-SAT"},
		{"*/0 * * * *", "minute", "*/0", "between 1 and 60"},
		{"5, * * * *", "minute", "5,", "missing next to a comma"},
		{"5-1 * * * *", "minute", "5-1", "backwards"},
		{"0 0 * * 5-1", "day-of-week", "5-1", "FRI-MON"},
		{"0 0 * NOV-FEB *", "month", "NOV-FEB", "such as NOV-DEC,JAN-FEB"},
		{"0 0 25-2/3 * *", "day-of-month", "25-2/3", "such as 25-31,1-2"},
		{"0 0 LW * *", "day-of-month", "LW", "nearest weekday"},
		{"0 0 L-31 * *", "day-of-month", "L-31", "1 to 30"},
		{"0 0 * * L", "day-of-week", "L", "FRIL"},
		{"0 0 * * MON#6", "day-of-week", "MON#6", "1 to 5"},
		{"0 0 30 2 *", "day-of-month", "30", `"2" has such a day`},
		{"0 0 */31 * MON#2", "day-of-month", "*/31", `never a day-of-week "MON#2"`},
		{"@reboot", "expression", "@reboot", "let the init system of that machine (systemd: Type=oneshot) call the URL"},
		{"@fortnightly", "expression", "@fortnightly", "@weekly"},
		{"@every 1h 30m", "expression", "@every 1h 30m", "one duration"},
		{"@every 500ms", "@every", "500ms", "between 1s"},
		{"@every 1000000h", "@every", "1000000h", "100 years"},
		{strings.Repeat("1,", 200) + "1 * * * *", "expression", strings.Repeat("1,", 20) + "…", "256 bytes"},
		{"٣ * * * *", "minute", "٣", "0-59"},
	} {
		_, err := Parse(row.text)
		if start := fmt.Sprintf("%s %q: ", row.field, row.quote); err == nil || row.quote != "" && !strings.HasPrefix(err.Error(), start) || !strings.Contains(err.Error(), row.says) {
			t.Errorf("%q: %v, want %q in %s", row.text, err, row.says, row.field)
		}
	}
}

func TestRareExpressionsAreAccepted(t *testing.T) {
	for _, text := range []string{"0 0 29 2 *", "0 0 29 FEB */7", "0 0 30 2 MON", "0 0 31 * *", "0 0 L-30 * *", "0 0 * 2 MON#5"} {
		if _, err := Parse(text); err != nil {
			t.Error(err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"*/15 9-17 * * MON-FRI", "0 0 L,L-3 FEB FRIL,MON#2,7", "1/5 0 0 ? * FRI-MON/2", "@every 90s", "@Weekly", "0 0 30 2 *", "5,", "-",
	} {
		f.Add(text)
	}
	at := time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(e.String())
		if err != nil || again.String() != e.String() || again.Words() != e.Words() || again.Fixed() != e.Fixed() {
			t.Fatalf("%q is %q, which is %v (%v)", text, e, again, err)
		}
		if _, ok := e.Every(); ok {
			return
		}
		r := Rule{Expr: e}
		next, ok := r.Next(at)
		if !ok {
			t.Fatalf("%q never runs", text)
		}
		prev, ok := r.Prev(next)
		if !ok || prev.After(at) {
			t.Fatalf("%q: next after %v is %v, and the one before it %v", text, at, next, prev)
		}
	})
}
