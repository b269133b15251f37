package console

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"text/tabwriter"

	"github.com/foliot/foliot/internal/cli/wording"
)

// Table prints rows. On a terminal the rows are aligned under a heading. Other
// outputs get no heading and a tab between fields, for cut and awk. A long
// table is aligned and printed in chunks.
type Table struct {
	w       flusher
	heading []string // not printed yet; nil if printed or absent
	rows    int      // added so far
	absent  bool     // with -o json, objects are printed instead
}

// flusher is implemented by bufio.Writer and tabwriter.Writer.
type flusher interface {
	io.Writer
	Flush() error
}

// chunkRows is the number of rows that are aligned together.
const chunkRows = 1000

// Table begins a table. Its End must be called.
func (c *Console) Table(heading []string) *Table {
	if !c.OutTerm {
		return &Table{w: bufio.NewWriter(c.Out), absent: c.JSON}
	}
	return &Table{w: tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0), heading: heading, absent: c.JSON}
}

// Add prints a row, or buffers it until its chunk is complete.
func (t *Table) Add(fields ...string) error {
	if t.heading != nil {
		fmt.Fprintln(t.w, strings.Join(t.heading, "\t"))
		t.heading = nil
	}
	for i := range fields {
		fields[i] = wording.Printable(fields[i])
	}
	fmt.Fprintln(t.w, strings.Join(fields, "\t"))
	if t.rows++; t.rows%chunkRows == 0 {
		return t.w.Flush()
	}
	return nil
}

// End prints the buffered rows. A table without rows is its heading only. With
// -o json there is no table.
func (t *Table) End() error {
	if t.absent {
		return nil
	}
	if t.heading != nil {
		fmt.Fprintln(t.w, strings.Join(t.heading, "\t"))
	}
	return t.w.Flush()
}

// List prints a list while it is read, as objects or as rows of a table.
// Items that were read before an error are printed.
func List[T any](con *Console, heading []string, list iter.Seq2[*T, error], row func(*T) []string) error {
	out := con.Table(heading)
	for item, err := range list {
		switch {
		case err != nil:
			return errors.Join(err, out.End())
		case con.JSON:
			err = con.Object(item)
		default:
			err = out.Add(row(item)...)
		}
		if err != nil {
			return err
		}
	}
	return out.End()
}
