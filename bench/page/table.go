package page

import (
	"fmt"
	"math"
	"strings"

	"github.com/foliot/foliot/bench/record"
)

// Better says which value of a column is the best.
type Better int

// The best values.
const (
	None Better = iota // the column is not compared
	Less               // nearer to zero: a negative lateness is no gain
	More
)

// Column is a column of a table that has a row for each contender. It has
// numbers or texts.
type Column struct {
	Head   string
	Value  func(contender string) float64 // NaN: not measured
	Text   func(contender string) string  // in place of Value
	Better Better
	Noise  float64 // a smaller difference is none
}

func (c *Column) cell(row record.Contender) string {
	if c.Text != nil {
		return c.Text(row.Name)
	}
	return Figure(c.Value(row.Name))
}

// rows returns the contenders with a title that a column has measured.
func rows(all []record.Contender, columns []Column) (list []record.Contender) {
	for _, row := range all {
		for i := range columns {
			if row.Title != "" && columns[i].cell(row) != Missing {
				list = append(list, row)
				break
			}
		}
	}
	return list
}

// Table returns a Markdown table. Its first column has the titles of the rows,
// in bold if they are Foliot's.
func Table(contenders []record.Contender, columns []Column) string {
	rows := rows(contenders, columns)
	if len(rows) == 0 {
		return NotMeasured
	}
	var head, line, body strings.Builder
	for _, c := range columns {
		head.WriteString(" " + c.Head + " |")
		line.WriteString("--:|")
	}
	for _, row := range rows {
		title := row.Title
		if row.Ours {
			title = "**" + title + "**"
		}
		body.WriteString("| " + title + " |")
		for i := range columns {
			body.WriteString(" " + columns[i].cell(row) + " |")
		}
		body.WriteByte('\n')
	}
	return fmt.Sprintf("| |%s\n|---|%s\n%s", head.String(), line.String(), body.String())
}

// Losses returns a text for each column in which another row is better than all
// of Foliot's.
func Losses(contenders []record.Contender, columns []Column) (list []string) {
	rows := rows(contenders, columns)
	for i := range columns {
		c := &columns[i]
		if c.Better == None {
			continue
		}
		ours, best := "", math.Inf(1)
		badness := func(row record.Contender) float64 {
			if c.Better == More {
				return -c.Value(row.Name)
			}
			return math.Abs(c.Value(row.Name))
		}
		for _, row := range rows {
			if x := badness(row); row.Ours && x < best {
				ours, best = row.Title+" "+c.cell(row), x
			}
		}
		var better []string
		for _, row := range rows {
			if !row.Ours && badness(row) < best-c.Noise && ours != "" {
				better = append(better, row.Title+" "+c.cell(row))
			}
		}
		if better != nil {
			list = append(list, fmt.Sprintf("%s: %s; %s", c.Head, strings.Join(better, ", "), ours))
		}
	}
	return list
}
