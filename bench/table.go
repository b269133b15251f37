package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// row is a contender. Without a title it has no row: the others are compared
// with it.
type row struct {
	name, title string
	ours        bool
}

// better says which value of a column is the best.
type better int

const (
	none better = iota // the column is not compared
	less               // nearer to zero: a negative lateness is no gain
	more
)

// column is a column of a table. Without a function it has the medians of a
// unit.
type column struct {
	head, part, unit string
	better           better
	noise            float64 // a smaller difference is none

	value func(r *results, contender string) float64 // NaN: not measured
	text  func(r *results, contender string) string  // in place of a number
}

func (c *column) number(r *results, contender string) float64 {
	if c.value != nil {
		return c.value(r, contender)
	}
	return r.median(c.part, contender, c.unit)
}

func (c *column) cell(r *results, contender string) string {
	if c.text != nil {
		return c.text(r, contender)
	}
	return figure(c.number(r, contender))
}

// measured returns the rows in which a column has a value.
func measured(rows []row, columns []column, r *results) (list []row) {
	for _, x := range rows {
		for i := range columns {
			if x.title != "" && columns[i].cell(r, x.name) != missing {
				list = append(list, x)
				break
			}
		}
	}
	return list
}

// table returns a Markdown table. Its first column has the titles of the rows,
// in bold if they are Foliot's.
func table(rows []row, columns []column, r *results) string {
	if rows = measured(rows, columns, r); len(rows) == 0 {
		return "*Not measured in this run.*\n"
	}
	var head, line, body strings.Builder
	for i := range columns {
		head.WriteString(" " + columns[i].head + " |")
		line.WriteString("--:|")
	}
	for _, x := range rows {
		if x.ours {
			x.title = "**" + x.title + "**"
		}
		body.WriteString("| " + x.title + " |")
		for i := range columns {
			body.WriteString(" " + columns[i].cell(r, x.name) + " |")
		}
		body.WriteByte('\n')
	}
	return fmt.Sprintf("| |%s\n|---|%s\n%s", head.String(), line.String(), body.String())
}

// losses returns a text for each column in which another row is better than all
// of Foliot's.
func losses(rows []row, columns []column, r *results) (list []string) {
	rows = measured(rows, columns, r)
	for i := range columns {
		c := &columns[i]
		if c.better == none {
			continue
		}
		badness := func(x row) float64 {
			if c.better == more {
				return -c.number(r, x.name)
			}
			return math.Abs(c.number(r, x.name))
		}
		ours, best := "", math.Inf(1)
		for _, x := range rows {
			if b := badness(x); x.ours && b < best {
				ours, best = x.title+" "+c.cell(r, x.name), b
			}
		}
		var winners []string
		for _, x := range rows {
			if !x.ours && badness(x) < best-c.noise && ours != "" {
				winners = append(winners, x.title+" "+c.cell(r, x.name))
			}
		}
		if winners != nil {
			list = append(list, fmt.Sprintf("%s: %s; %s", c.head, strings.Join(winners, ", "), ours))
		}
	}
	return list
}

// missing replaces a missing number.
const missing = "–"

// figure formats a number with about three digits.
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
	digits := strconv.Itoa(int(math.Round(x)))
	if a := math.Abs(math.Round(x)); a < 10_000 {
		return digits
	}
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "\u00a0" + digits[i:]
	}
	return digits
}
