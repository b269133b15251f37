package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// table is a table of Markdown. All columns but the first are numbers.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

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

// figure writes a number with two or three digits.
func figure(x float64) string {
	switch a := math.Abs(x); {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return missing
	case a < 0.05:
		return "0"
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
