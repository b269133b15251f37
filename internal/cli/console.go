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

// console holds the input and output of a command. Results go to out, and
// notes about the command itself go to err.
type console struct {
	in       io.Reader
	out, err io.Writer
	json     bool // results as JSON, one object per line
	outTerm  bool // out is a terminal: aligned tables with a heading
	errTerm  bool // err is a terminal: progress may be redrawn in place
	canAsk   bool // in and err are terminals: a user can answer

	command *kong.Node // errors use its flag names; nil keeps the names of the API
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

// linef prints a result as a line of text.
func (c *console) linef(format string, args ...any) {
	fmt.Fprintln(c.out, wording.PrintableLines(fmt.Sprintf(format, args...)))
}

// resultf prints the sentence, or v as an object with -o json.
func (c *console) resultf(v any, format string, args ...any) error {
	if c.json {
		return c.object(v)
	}
	c.linef("%s", wording.Printable(fmt.Sprintf(format, args...)))
	return nil
}

// notef prints a line about the command to standard error.
func (c *console) notef(format string, args ...any) {
	fmt.Fprintln(c.err, wording.PrintableLines(fmt.Sprintf(format, args...)))
}

// errorText returns err as the line that is printed.
func (c *console) errorText(err error) string { return oneLine(err, c.command) }

// object prints v as one line of JSON. Characters that are special in HTML are
// not escaped, so that a body is printed as it was given.
func (c *console) object(v any) error { return writeJSON(c.out, v, c.outTerm) }

// writeJSON writes v as one line of JSON. For a terminal it escapes control
// characters. Both forms mean the same to a program.
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

// escapeJSON returns a line of JSON with \u escapes for all characters that are
// not printable: C0 and C1 control characters, and characters that change the
// direction of text. They occur only in strings, where the escape means the same.
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
		default: // an invalid byte becomes \ufffd, as JSON decoders read it
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
		}
		line = line[n:]
	}
	return escaped
}

// table prints rows. On a terminal the rows are aligned under a heading. Other
// outputs get no heading and a tab between fields, for cut and awk. A long table
// is aligned and printed in chunks.
type table struct {
	w       flusher
	heading []string // not printed yet; nil if printed or absent
	rows    int      // added so far
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
		return &table{w: bufio.NewWriter(c.out)}
	}
	return &table{w: tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0), heading: heading}
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

// end prints the buffered rows. A table without rows is its heading only.
func (t *table) end() error {
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

// endTable prints the rest of a table. With -o json there is no table.
func endTable(con *console, out *table) error {
	if con.json {
		return nil
	}
	return out.end()
}
