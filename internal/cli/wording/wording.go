package wording

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/foliot/foliot/client/admin"
	"github.com/foliot/foliot/internal/timespan"
	"github.com/foliot/foliot/internal/wire"
)

// Printable returns s with control characters escaped, so that untrusted text
// cannot move a terminal's cursor or break a table.
func Printable(s string) string {
	clean := func(r rune) bool { return unicode.IsPrint(r) && r != unicode.ReplacementChar }
	if strings.IndexFunc(s, func(r rune) bool { return !clean(r) }) < 0 {
		return s
	}
	quoted := strconv.Quote(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// PrintableLines is Printable for a text with several lines, and with tabs
// between its fields. It is the last step before a line is printed, so that no
// command can forget it.
func PrintableLines(s string) string {
	keep := func(r rune) bool { return r == '\n' || r == '\t' }
	var b strings.Builder
	for len(s) > 0 {
		n := strings.IndexFunc(s, keep)
		if n < 0 {
			n = len(s)
		}
		b.WriteString(Printable(s[:n]))
		if n < len(s) {
			b.WriteByte(s[n])
			n++
		}
		s = s[n:]
	}
	return b.String()
}

// MaxShown is the largest number of bytes of an untrusted text that is printed.
const MaxShown = 500

// Shorten cuts s to MaxShown bytes.
func Shorten(s string) string { return ShortenTo(s, MaxShown) }

// ShortenTo cuts s to n bytes.
func ShortenTo(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// Instant formats t as the API does.
func Instant(t time.Time) string { return wire.FormatTime(t) }

// InstantOr is Instant, but returns word for the zero time.
func InstantOr(t time.Time, word string) string {
	if t.IsZero() {
		return word
	}
	return Instant(t)
}

// Near formats t for a person: relative to now, and as a clock in the zone of
// t: "in 29 min (15:04:05)".
func Near(t, now time.Time) string {
	now = now.In(t.Location())
	form := "2006-01-02 15:04"
	switch {
	case t.Format(time.DateOnly) == now.Format(time.DateOnly):
		form = time.TimeOnly
	case t.Year() == now.Year():
		form = "Jan 2 15:04"
	}
	return relative(t.Sub(now)) + " (" + t.Format(form) + ")"
}

// relative formats the time until an instant, or since it if d is negative.
func relative(d time.Duration) string {
	length := roundly(d.Abs())
	switch {
	case length == "":
		return "now"
	case d < 0:
		return length + " ago"
	}
	return "in " + length
}

// roundly formats a duration in one unit, or in hours and minutes. It returns ""
// below half a second.
func roundly(d time.Duration) string {
	const day = 24 * time.Hour
	seconds, minutes := d.Round(time.Second), d.Round(time.Minute)
	switch {
	case seconds == 0:
		return ""
	case seconds < time.Minute:
		return fmt.Sprintf("%d s", int(seconds.Seconds()))
	case minutes < time.Hour:
		return fmt.Sprintf("%d min", int(minutes.Minutes()))
	case minutes < 10*time.Hour && minutes%time.Hour != 0:
		return fmt.Sprintf("%d h %d min", int(minutes.Hours()), int((minutes % time.Hour).Minutes()))
	case d < 2*day:
		return fmt.Sprintf("%d h", int(d.Round(time.Hour).Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Round(day)/day))
}

// Qualified returns the name of a record with its namespace, unless that is the
// default one.
func Qualified(namespace, name string) string {
	if namespace == "default" {
		return name
	}
	return namespace + "/" + name
}

// URLOrKind returns the URL of a task, or the kind of a task that has no URL.
func URLOrKind(url, kind string) string {
	if kind == "" {
		return url
	}
	return "kind " + kind
}

// Lateness formats a delay of attempts.
func Lateness(l admin.Lateness) string {
	return fmt.Sprintf("p50 %s, p99 %s, max %s", Millis(l.P50), Millis(l.P99), Millis(l.Max))
}

// Millis formats d in milliseconds below a second, and otherwise in seconds and
// minutes: "1.4s", "4m54s".
func Millis(d time.Duration) string {
	switch {
	case d.Abs() >= time.Minute:
		return Span(d.Round(time.Second))
	case d.Abs() >= time.Second:
		return Span(d.Round(100 * time.Millisecond))
	}
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}

// Age formats the time since a due time. It returns "" for 0.
func Age(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d < time.Second:
		return Span(d.Round(time.Millisecond))
	}
	return Span(d.Round(time.Second))
}

// Duration returns d as text, or "" if d is not set.
func Duration(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return Span(d)
}

// Span returns d as text, without units that are zero.
func Span(d time.Duration) string { return timespan.Text(d) }

// PerSecond formats the rate of n in the time d.
func PerSecond(n int, d time.Duration) string {
	return fmt.Sprintf("%.0f a second", float64(n)/max(d.Seconds(), 1e-3))
}

// Count returns a number and its noun: "1 task", "2 tasks".
func Count[N ~int | int64 | uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// AndSchedules adds the number of schedules to a sentence that has counted
// tasks.
func AndSchedules(n int) string {
	if n == 0 {
		return ""
	}
	return " and " + Count(n, "schedule")
}

// FieldName returns the last element of a field's path.
func FieldName(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// FlagName returns the flag that has a field's name.
func FlagName(field string) string { return "--" + strings.ReplaceAll(field, "_", "-") }
