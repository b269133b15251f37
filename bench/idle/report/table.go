package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// table is a table of Markdown. All columns but the first are numbers.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// less adds a row of numbers of which the least is the best, and marks it. What is missing is NaN; those that do not take part, by
// their places, are not marked.
func (t *table) less(what string, write func(float64) string, values []float64, apart ...int) {
	best := math.Inf(1)
	for i, x := range values {
		if !slices.Contains(apart, i) && x < best {
			best = x
		}
	}
	row := []string{what}
	for i, x := range values {
		cell := write(x)
		if cell == write(best) && cell != missing && !slices.Contains(apart, i) {
			cell = "**" + cell + "**"
		}
		row = append(row, cell)
	}
	t.add(row...)
}

func (t *table) String() string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(t.head)
	line(append([]string{"---"}, slices.Repeat([]string{"--:"}, len(t.head)-1)...))
	for _, row := range t.rows {
		line(row)
	}
	return b.String()
}

const missing = "–"

// figure writes a number with three digits or so.
func figure(x float64) string {
	switch a := math.Abs(x); {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return missing
	case a < 0.005:
		return "0"
	case a < 0.095:
		return strconv.FormatFloat(x, 'f', 2, 64)
	case a < 9.95:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return count(int(math.Round(x)))
}

// count writes a whole number with a space, that does not break, between its thousands.
func count(n int) string {
	digits := strconv.Itoa(n)
	if n < 10_000 && n > -10_000 {
		return digits
	}
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "\u00a0" + digits[i:]
	}
	return digits
}

// more writes a difference.
func more(x float64) string {
	text := figure(x)
	if x > 0 && text != "0" && text != missing {
		return "+" + text
	}
	return text
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
