package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/foliot/foliot/internal/cli/wording"
)

// console is where a command reads and writes. Results go to out, everything
// that is about the command itself to err.
type console struct {
	in       io.Reader
	out, err io.Writer
	json     bool // results as JSON, one object a line
	outTerm  bool // out is a terminal: aligned tables with a heading
	errTerm  bool // err is a terminal: progress may be redrawn in place
	canAsk   bool // in is a terminal too: a person can answer

	command *kong.Node // in whose words errors are told; nil: in their own
}

func newConsole(in io.Reader, out, err io.Writer, asJSON bool) *console {
	c := &console{in: in, out: out, err: err, json: asJSON, outTerm: isTerminal(out), errTerm: isTerminal(err)}
	c.canAsk = c.errTerm && isTerminal(in)
	return c
}

// isTerminal reports whether a reader or writer is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// sayf prints a line of result.
func (c *console) sayf(format string, args ...any) {
	fmt.Fprintln(c.out, wording.PrintableLines(fmt.Sprintf(format, args...)))
}

// notef prints a line about the command.
func (c *console) notef(format string, args ...any) {
	fmt.Fprintln(c.err, wording.PrintableLines(fmt.Sprintf(format, args...)))
}

// why returns err as it is told.
func (c *console) why(err error) string { return oneLine(err, c.command) }

// object prints v as one line of JSON. Characters that HTML would mind stay as
// they are: a body is shown as it was given.
func (c *console) object(v any) error { return writeJSON(c.out, v, c.outTerm) }

// writeJSON writes v as one line of JSON, for a terminal with escapes in the place
// of characters that would act on it. Both lines mean the same to a program.
func writeJSON(w io.Writer, v any, terminal bool) error {
	if !terminal {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		return enc.Encode(v)
	}
	var line bytes.Buffer
	if err := writeJSON(&line, v, false); err != nil {
		return err
	}
	_, err := w.Write(escapeJSON(line.Bytes()))
	return err
}

// escapeJSON returns a line of JSON with \u escapes for all characters that do not
// print: control characters, those of C1, and those that change the direction of
// text. They stand in strings only, where the escape is the same character.
func escapeJSON(line []byte) []byte {
	escaped := make([]byte, 0, len(line)+len(line)/8)
	for len(line) > 0 {
		r, n := utf8.DecodeRune(line)
		switch {
		case r == '\n' || unicode.IsPrint(r) && (r != utf8.RuneError || n > 1):
			escaped = append(escaped, line[:n]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			escaped = fmt.Appendf(escaped, `\u%04x\u%04x`, high, low)
		default: // a byte that is no UTF-8 becomes \ufffd, as readers of JSON take it
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
		}
		line = line[n:]
	}
	return escaped
}

// table prints rows: aligned under a heading on a terminal, and otherwise
// without one and with a tab between the fields, for cut and awk. A long one is
// printed, and aligned, piece by piece.
type table struct {
	w       flusher
	heading []string // still to be printed; nil: none
	rows    int      // since the last piece
}

// flusher is what bufio and tabwriter have in common.
type flusher interface {
	io.Writer
	Flush() error
}

// piece is how many rows are aligned together.
const piece = 1000

func (c *console) table(heading []string) *table {
	if !c.outTerm {
		return &table{w: bufio.NewWriter(c.out)}
	}
	return &table{w: tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0), heading: heading}
}

// add prints a row, or keeps it until its piece is complete.
func (t *table) add(fields ...string) error {
	if t.heading != nil {
		fmt.Fprintln(t.w, strings.Join(t.heading, "\t"))
		t.heading = nil
	}
	for i := range fields {
		fields[i] = wording.Printable(fields[i])
	}
	fmt.Fprintln(t.w, strings.Join(fields, "\t"))
	if t.rows++; t.rows%piece == 0 {
		return t.w.Flush()
	}
	return nil
}

// end prints what is left; without a row, the heading alone.
func (t *table) end() error {
	if t.heading != nil {
		fmt.Fprintln(t.w, strings.Join(t.heading, "\t"))
	}
	return t.w.Flush()
}

// listing prints a list as it is read: objects, or rows of a table. What was read
// before an error is shown.
func listing[T any](con *console, heading []string, list iter.Seq2[*T, error], row func(*T) []string) error {
	out := con.table(heading)
	for item, err := range list {
		switch {
		case err != nil:
			return errors.Join(err, endTable(con, out))
		case con.json:
			err = con.object(item)
		default:
			err = out.add(row(item)...)
		}
		if err != nil {
			return err
		}
	}
	return endTable(con, out)
}

// endTable prints what is left of a table, where one is printed.
func endTable(con *console, out *table) error {
	if con.json {
		return nil
	}
	return out.end()
}
