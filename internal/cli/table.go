package cli

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

// table prints rows. On a terminal the rows are aligned under a heading. Other
// outputs get no heading and a tab between fields, for cut and awk. A long table
// is aligned and printed in chunks.
type table struct {
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

// chunkRows is how many rows are aligned together.
const chunkRows = 1000

func (c *console) table(heading []string) *table {
	if !c.outTerm {
		return &table{w: bufio.NewWriter(c.out), absent: c.json}
	}
	return &table{w: tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0), heading: heading, absent: c.json}
}

// add prints a row, or buffers it until its chunk is complete.
func (t *table) add(fields ...string) error {
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

// end prints the buffered rows. A table without rows is its heading only. With
// -o json there is no table.
func (t *table) end() error {
	if t.absent {
		return nil
	}
	if t.heading != nil {
		fmt.Fprintln(t.w, strings.Join(t.heading, "\t"))
	}
	return t.w.Flush()
}

// listing prints a list while it is read, as objects or as rows of a table.
// Items that were read before an error are printed.
func listing[T any](con *console, heading []string, list iter.Seq2[*T, error], row func(*T) []string) error {
	out := con.table(heading)
	for item, err := range list {
		switch {
		case err != nil:
			return errors.Join(err, out.end())
		case con.json:
			err = con.object(item)
		default:
			err = out.add(row(item)...)
		}
		if err != nil {
			return err
		}
	}
	return out.end()
}
