package page

import (
	"fmt"
	"math"
	"strings"
)

// Contestant is a row of a table.
type Contestant interface {
	Title() string
	Ours() bool
}

// Better says which value of a column is the best.
type Better int

// The best values.
const (
	None Better = iota // the column is not compared
	Less               // nearer to zero: a negative lateness is no gain
	More
)

// Column is a column of a table that has a row for each T. It has numbers or
// texts.
type Column[T Contestant] struct {
	Head   string
	Value  func(T) float64 // NaN: not measured
	Text   func(T) string  // in place of Value
	Better Better
	Noise  float64 // a smaller difference is none
}

func (c Column[T]) cell(row T) string {
	if c.Text != nil {
		return c.Text(row)
	}
	return Figure(c.Value(row))
}

// Table returns a Markdown table. Its first column has the titles of the rows,
// in bold if they are Foliot's.
func Table[T Contestant](rows []T, columns ...Column[T]) string {
	if len(rows) == 0 {
		return NotMeasured
	}
	var head, line, body strings.Builder
	for _, c := range columns {
		head.WriteString(" " + c.Head + " |")
		line.WriteString("--:|")
	}
	for _, row := range rows {
		title := row.Title()
		if row.Ours() {
			title = "**" + title + "**"
		}
		body.WriteString("| " + title + " |")
		for _, c := range columns {
			body.WriteString(" " + c.cell(row) + " |")
		}
		body.WriteByte('\n')
	}
	return fmt.Sprintf("| |%s\n|---|%s\n%s", head.String(), line.String(), body.String())
}

// Losses returns a text for each column in which another row is better than all
// of Foliot's.
func Losses[T Contestant](rows []T, columns ...Column[T]) (list []string) {
	for _, c := range columns {
		if c.Better == None {
			continue
		}
		ours, best := "", math.Inf(1)
		badness := func(row T) float64 {
			if c.Better == More {
				return -c.Value(row)
			}
			return math.Abs(c.Value(row))
		}
		for _, row := range rows {
			if x := badness(row); row.Ours() && x < best {
				ours, best = row.Title()+" "+c.cell(row), x
			}
		}
		var better []string
		for _, row := range rows {
			if !row.Ours() && badness(row) < best-c.Noise && ours != "" {
				better = append(better, row.Title()+" "+c.cell(row))
			}
		}
		if better != nil {
			list = append(list, fmt.Sprintf("%s: %s; %s", c.Head, strings.Join(better, ", "), ours))
		}
	}
	return list
}
