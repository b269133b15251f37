package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"golang.org/x/term"
)

// console is where a command reads and writes. Results go to out, everything
// that is about the command itself to err.
type console struct {
	in       io.Reader
	out, err io.Writer
	json     bool // results as JSON, one object a line
	outTerm  bool // out is a terminal: aligned tables with a heading
	errTerm  bool // err is a terminal: progress may be redrawn in place
}

func newConsole(in io.Reader, out, err io.Writer, asJSON bool) *console {
	return &console{in: in, out: out, err: err, json: asJSON, outTerm: isTerminal(out), errTerm: isTerminal(err)}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// sayf prints a line of result.
func (c *console) sayf(format string, args ...any) { fmt.Fprintf(c.out, format+"\n", args...) }

// notef prints a line about the command.
func (c *console) notef(format string, args ...any) { fmt.Fprintf(c.err, format+"\n", args...) }

// object prints v as one line of JSON. Characters that HTML would mind stay as
// they are: a body is shown as it was given.
func (c *console) object(v any) error { return writeJSON(c.out, v) }

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// table prints rows: aligned under a heading on a terminal, and otherwise
// without one and with a tab between the fields, for cut and awk.
func (c *console) table(heading []string, rows [][]string) error {
	if !c.outTerm {
		return writeRows(bufio.NewWriter(c.out), rows)
	}
	aligned := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	if heading != nil {
		rows = append([][]string{heading}, rows...)
	}
	return writeRows(aligned, rows)
}

// flusher is what bufio and tabwriter have in common.
type flusher interface {
	io.Writer
	Flush() error
}

func writeRows(w flusher, rows [][]string) error {
	for _, row := range rows {
		for i := range row {
			row[i] = printable(row[i])
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

// printable returns s with control characters escaped: what a stranger sent
// must not move a terminal's cursor or break a table.
func printable(s string) string {
	clean := func(r rune) bool { return unicode.IsPrint(r) && r != unicode.ReplacementChar }
	if strings.IndexFunc(s, func(r rune) bool { return !clean(r) }) < 0 {
		return s
	}
	quoted := strconv.Quote(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
