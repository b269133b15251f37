package page

import (
	"math"
	"strings"
)

// Column is a column of a table that has a row for each T.
type Column[T any] struct {
	Head string
	Cell func(T) string
	Text bool   // aligned left: it has words, not numbers
	Foot string // the cell of a last row; without any Foot there is no such row
}

// Table returns a Markdown table. The first column is aligned left.
func Table[T any](rows []T, columns ...Column[T]) string {
	if len(rows) == 0 {
		return NotMeasured
	}
	var b strings.Builder
	foot := false
	line := func(cell func(i int, c Column[T]) string) {
		for i, c := range columns {
			b.WriteString("| " + cell(i, c) + " ")
			foot = foot || c.Foot != ""
		}
		b.WriteString("|\n")
	}
	line(func(_ int, c Column[T]) string { return c.Head })
	line(func(i int, c Column[T]) string {
		if i == 0 || c.Text {
			return "---"
		}
		return "--:"
	})
	for _, row := range rows {
		line(func(_ int, c Column[T]) string { return c.Cell(row) })
	}
	if foot {
		line(func(_ int, c Column[T]) string { return c.Foot })
	}
	return b.String()
}

// Contestant is a column of a comparison.
type Contestant interface {
	Title() string
	Competes() bool // it can be the best
}

// Row is a row of a comparison. It has a number or a text for each T.
type Row[T Contestant] struct {
	What  string
	Value func(T) float64
	Write func(float64) string // formats a value; nil means Figure
	Best  bool                 // the smallest value is bold
	Text  func(T) string       // in place of Value
}

// Compare returns a table that has a column for each contestant.
func Compare[T Contestant](corner string, all []T, rows ...Row[T]) string {
	if len(all) == 0 {
		return NotMeasured
	}
	columns := []Column[Row[T]]{{Head: corner, Cell: func(r Row[T]) string { return r.What }}}
	for _, x := range all {
		columns = append(columns, Column[Row[T]]{Head: x.Title(), Cell: func(r Row[T]) string { return r.cell(x, all) }})
	}
	return Table(rows, columns...)
}

func (r Row[T]) cell(x T, all []T) string {
	if r.Text != nil {
		return r.Text(x)
	}
	write := r.Write
	if write == nil {
		write = Figure
	}
	cell := write(r.Value(x))
	if !r.Best || cell == Missing || !x.Competes() {
		return cell
	}
	best := math.Inf(1)
	for _, other := range all {
		if v := r.Value(other); other.Competes() && v < best {
			best = v
		}
	}
	return Title(cell, cell == write(best))
}
