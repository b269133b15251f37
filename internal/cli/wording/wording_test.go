package wording

import (
	"testing"
	"time"
)

func TestOneThingIsSingular(t *testing.T) {
	for n, want := range map[int]string{0: "0 tasks", 1: "1 task", 2: "2 tasks"} {
		if got := Count(n, "task"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestUntrustedTextCannotMoveTheCursor(t *testing.T) {
	for in, want := range map[string]string{
		"plain":              "plain",
		`{"a": "é 日本"}`:      `{"a": "é 日本"}`,
		"\x1b[2Jgone":        `\x1b[2Jgone`,
		"two\nlines":         `two\nlines`,
		"a \"quote\"\x00":    `a "quote"\x00`,
		"broken \xff":        `broken \xff`,
		"right\u202eto left": `right\u202eto left`,
		"":                   "",
	} {
		if got := Printable(in); got != want {
			t.Errorf("printable(%q) is %q, want %q", in, got, want)
		}
	}
}

func TestATimeNearNowIsRelativeAndLocal(t *testing.T) {
	zone := time.FixedZone("", 3600)
	now := time.Date(2026, 11, 27, 14, 0, 0, 0, time.UTC)
	for in, want := range map[time.Duration]string{
		0:                               "now (15:00:00)",
		300 * time.Millisecond:          "now (15:00:00)",
		-12 * time.Second:               "12 s ago (14:59:48)",
		59*time.Second + 700e6:          "in 1 min (15:00:59)",
		29 * time.Minute:                "in 29 min (15:29:00)",
		59*time.Minute + 40*time.Second: "in 1 h (15:59:40)",
		80 * time.Minute:                "in 1 h 20 min (16:20:00)",
		-5 * time.Hour:                  "5 h ago (10:00:00)",
		20*time.Hour + 40*time.Minute:   "in 21 h (Nov 28 11:40)",
		72 * time.Hour:                  "in 3 days (Nov 30 15:00)",
		-365 * 24 * time.Hour:           "365 days ago (2025-11-27 15:00)",
	} {
		if got := Near(now.Add(in).In(zone), now); got != want {
			t.Errorf("%v: got %q, want %q", in, got, want)
		}
	}
}

func TestALongLatenessIsNotInMilliseconds(t *testing.T) {
	for in, want := range map[time.Duration]string{
		0: "0.0 ms", 1500 * time.Microsecond: "1.5 ms", 999 * time.Millisecond: "999.0 ms", 1400 * time.Millisecond: "1.4s", 294349200 * time.Microsecond: "4m54s",
	} {
		if got := Millis(in); got != want {
			t.Errorf("%v: got %q, want %q", in, got, want)
		}
	}
}
