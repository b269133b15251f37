package page

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Table is a Markdown table. All columns except the first contain numbers. If
// Words is set, the second contains text.
type Table struct {
	Head  []string
	Rows  [][]string
	Words bool
}

// Add adds a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Less adds a row of numbers and marks the smallest as the best. A missing
// number is NaN. Columns in apart are never marked.
func (t *Table) Less(what string, write func(float64) string, values []float64, apart ...int) {
	best := math.Inf(1)
	for i, x := range values {
		if !slices.Contains(apart, i) && x < best {
			best = x
		}
	}
	row := []string{what}
	for i, x := range values {
		cell := write(x)
		if cell == write(best) && cell != Missing && !slices.Contains(apart, i) {
			cell = "**" + cell + "**"
		}
		row = append(row, cell)
	}
	t.Add(row...)
}

func (t *Table) String() string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(t.Head)
	alignment := append([]string{"---"}, slices.Repeat([]string{"--:"}, len(t.Head)-1)...)
	if t.Words {
		alignment[1] = "---"
	}
	line(alignment)
	for _, row := range t.Rows {
		line(row)
	}
	return b.String()
}
