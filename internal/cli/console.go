package cli

import (
	"fmt"
	"io"
	"os"

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
