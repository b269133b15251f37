package console

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/foliot/foliot/internal/cli/wording"
)

// Table prints rows. On a terminal the rows are aligned under a heading, and
// states have colours. Other outputs get no heading and a tab between fields,
// for cut and awk. A long table is aligned and printed in chunks.
type Table struct {
	con     *Console
	out     *bufio.Writer
	heading []string   // nil: none
	chunk   [][]string // not printed yet
	widths  []int      // of the columns that were printed; they never shrink
	begun   bool       // the heading was printed
}

// chunkRows is the number of rows that are aligned together.
const chunkRows = 1000

// Table begins a table. Its End must be called.
func (c *Console) Table(heading []string) *Table {
	return &Table{con: c, out: bufio.NewWriter(c.Out), heading: heading}
}

// Add prints a row, or buffers it until its chunk is complete.
func (t *Table) Add(fields ...string) error {
	for i := range fields {
		fields[i] = wording.Printable(fields[i])
	}
	t.con.printed++
	t.chunk = append(t.chunk, fields)
	if len(t.chunk) == chunkRows {
		return t.Flush()
	}
	return nil
}

// Item prints an item of a list: as an object with -o json, and otherwise as a row.
func (t *Table) Item(item any, fields ...string) error {
	if t.con.JSON {
		return t.con.Object(item)
	}
	return t.Add(fields...)
}

// End prints the buffered rows. A table without rows is its heading only. With
// -o json there is no table.
func (t *Table) End() error {
	if t.con.JSON {
		return nil
	}
	return t.Flush()
}

// Flush prints the buffered rows, after the heading.
func (t *Table) Flush() error {
	rows := t.chunk
	t.chunk = nil
	if !t.con.OutTerm {
		for _, row := range rows {
			fmt.Fprintln(t.out, strings.Join(row, "\t"))
		}
		return t.out.Flush()
	}
	if !t.begun && t.heading != nil {
		t.widen(t.heading)
	}
	for _, row := range rows {
		t.widen(row)
	}
	if !t.begun && t.heading != nil {
		t.print(t.heading, func(int, string) string { return "" })
	}
	t.begun = true
	for _, row := range rows {
		t.print(row, func(column int, field string) string { return t.colorOf(row, column, field) })
	}
	return t.out.Flush()
}

func (t *Table) widen(row []string) {
	for i, field := range row {
		if i == len(t.widths) {
			t.widths = append(t.widths, 0)
		}
		t.widths[i] = max(t.widths[i], utf8.RuneCountInString(field))
	}
}

// print prints a row. color returns the escape sequence that begins a color, or
// "". The last field is not padded.
func (t *Table) print(row []string, color func(column int, field string) string) {
	for i, field := range row {
		start := color(i, field)
		_, _ = io.WriteString(t.out, start+field) // Flush returns the error
		if start != "" {
			_, _ = io.WriteString(t.out, noColor)
		}
		if i < len(row)-1 {
			_, _ = io.WriteString(t.out, strings.Repeat(" ", t.widths[i]-utf8.RuneCountInString(field)+2))
		}
	}
	_ = t.out.WriteByte('\n')
}

// colorOf returns the color of a field that is a state. In a table without a
// heading the first field of a row names the second.
func (t *Table) colorOf(row []string, column int, field string) string {
	name := row[0]
	if t.heading != nil {
		name = strings.ToLower(t.heading[column])
	} else if column == 0 {
		return ""
	}
	if !t.con.color || name != "state" && name != "outcome" {
		return ""
	}
	return colorOf(field)
}

// Items prints a complete list, as objects or as rows of a table.
func Items[T any](con *Console, heading []string, list []T, row func(T) []string) error {
	out := con.Table(heading)
	for _, item := range list {
		if err := out.Item(item, row(item)...); err != nil {
			return err
		}
	}
	return out.End()
}

// List prints a list while it is read, as objects or as rows of a table.
// Items that were read before an error are printed.
func List[T any](con *Console, heading []string, list iter.Seq2[*T, error], row func(*T) []string) error {
	out := con.Table(heading)
	for item, err := range list {
		if err != nil {
			return errors.Join(err, out.End())
		}
		if err := out.Item(item, row(item)...); err != nil {
			return err
		}
	}
	return out.End()
}

// Rows are pairs of a word and a value.
type Rows [][]string

// Add adds a row unless its value is empty.
func (r *Rows) Add(word, value string) {
	if value != "" {
		*r = append(*r, []string{word, value})
	}
}

// Print prints the rows as a table without a heading.
func (r Rows) Print(con *Console) error {
	out := con.Table(nil)
	for _, row := range r {
		if err := out.Add(row...); err != nil {
			return err
		}
	}
	return out.End()
}
