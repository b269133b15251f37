package wording

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/wire"
)

// Printable returns s with control characters escaped: what a stranger sent
// must not move a terminal's cursor or break a table.
func Printable(s string) string {
	clean := func(r rune) bool { return unicode.IsPrint(r) && r != unicode.ReplacementChar }
	if strings.IndexFunc(s, func(r rune) bool { return !clean(r) }) < 0 {
		return s
	}
	quoted := strconv.Quote(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// PrintableLines is Printable for a text that may have several lines, and tabs
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

// MaxShown is how many bytes of a text that a stranger chose are shown.
const MaxShown = 500

// Shorten cuts what nobody would read to its end.
func Shorten(s string) string {
	if len(s) <= MaxShown {
		return s
	}
	return strings.ToValidUTF8(s[:MaxShown], "") + "…"
}

// Instant prints t as the API does.
func Instant(t time.Time) string { return wire.FormatTime(t) }

// InstantOr is Instant, or a word where there is none.
func InstantOr(t time.Time, word string) string {
	if t.IsZero() {
		return word
	}
	return Instant(t)
}

// Qualified names what belongs to a namespace; that of the default one is left out.
func Qualified(namespace, name string) string {
	if namespace == "default" {
		return name
	}
	return namespace + "/" + name
}

// Millis returns d in milliseconds.
func Millis(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

// Age returns for how long something has been due; "" for nothing.
func Age(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// Megabytes returns a number of bytes.
func Megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// AndSchedules continues a sentence that has counted tasks.
func AndSchedules(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d schedules", n)
}

// Skipped says which instants were skipped, and why.
func Skipped(k *client.SkippedInstants) string {
	why := strings.ReplaceAll(k.Why, "_", " ")
	if k.From.Equal(k.Until) {
		return fmt.Sprintf("%s (%s)", Instant(k.From), why)
	}
	return fmt.Sprintf("%s to %s (%s)", Instant(k.From), Instant(k.Until), why)
}
