package cron

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestWords(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"0 21 * * *", "at 21:00 every day"},
		{"0 21 * * MON-FRI", "at 21:00 on weekdays"},
		{"30 2 L * *", "at 02:30 on the last day of the month"},
	} {
		if got := mustParse(t, row.text).Words(); got != row.want {
			t.Errorf("%q: %q, want %q", row.text, got, row.want)
		}
	}
}

// If two expressions that differ had the same sentence, it would be untrue of one.
func TestDifferentExpressionsHaveDifferentWords(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	said := map[string]*Expr{}
	for i := range 20000 {
		e, err := Parse(randomSample(rnd, i%4 == 0).text)
		if err != nil {
			continue
		}
		words := e.Words()
		if other, ok := said[words]; ok && meaning(e) != meaning(other) {
			t.Fatalf("%q and %q are both %q", e, other, words)
		}
		said[words] = e
	}
}

// meaning says what an expression's words must tell: its times and its days.
func meaning(e *Expr) string {
	text := fmt.Sprint(e.clock, e.days.months)
	for year := 2024; year < 2052; year++ {
		for month := 1; month <= 12; month++ {
			if e.days.months.has(month) {
				text += fmt.Sprint(" ", e.days.of(year, month))
			}
		}
	}
	return text
}
