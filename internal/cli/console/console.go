package console

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/wording"
)

// Console holds the input and output of a command. Results go to Out, and
// notes about the command itself go to Err.
type Console struct {
	In       io.Reader
	Out, Err io.Writer
	JSON     bool // results as JSON, one object per line
	OutTerm  bool // Out is a terminal: aligned tables with a heading
	color    bool // Out is a terminal that shows states in colors
	errTerm  bool // Err is a terminal: progress may be redrawn in place
	CanAsk   bool // In and Err are terminals: a user can answer

	Command *kong.Node   // errors use its flag names; nil keeps the names of the API
	Where   func() Where // the namespace of the command; nil if it is unknown

	printed int // objects and rows
}

// Where is the namespace in which a command acted.
type Where struct {
	Namespace string   // empty if it is unknown
	Others    []string // other namespaces, if the caller can act in all and has chosen none
}

// NoteIfEmpty prints the note of NoteNothing if the command has printed no
// object and no row.
func (c *Console) NoteIfEmpty() {
	if c.printed == 0 {
		c.NoteNothing()
	}
}

// NoteNothing prints that the command found nothing in its namespace, and names
// other namespaces. It does so only if an operator has chosen no namespace and
// others exist: without the note, an empty list looks like a list of all
// namespaces.
func (c *Console) NoteNothing() {
	if c.Where == nil {
		return
	}
	if at := c.Where(); len(at.Others) > 0 {
		c.Notef("nothing in the namespace %s; --namespace chooses another one: %s", at.Namespace, strings.Join(at.Others, ", "))
	}
}

// Namespace returns the namespace in which the command acted, or "" if it is
// unknown.
func (c *Console) Namespace() string {
	if c.Where == nil {
		return ""
	}
	return c.Where().Namespace
}

// New returns a console that finds out by itself which of its streams are
// terminals.
func New(in io.Reader, out, err io.Writer, asJSON bool) *Console {
	c := &Console{In: in, Out: out, Err: err, JSON: asJSON, OutTerm: isTerminal(out), errTerm: isTerminal(err)}
	c.color = c.OutTerm && !asJSON && wantsColor()
	c.CanAsk = c.errTerm && isTerminal(in)
	return c
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Linef prints a result as a line of text.
func (c *Console) Linef(format string, args ...any) {
	fmt.Fprintln(c.Out, wording.PrintableLines(fmt.Sprintf(format, args...)))
}

// Instant formats t for a table. A terminal gets a time that is relative and
// local, and other outputs get the format of the API. The zero time is "-".
func (c *Console) Instant(t time.Time) string {
	switch {
	case t.IsZero():
		return "-"
	case c.OutTerm:
		return wording.Near(t.Local(), time.Now())
	}
	return wording.Instant(t)
}

// Resultf prints the sentence, or v as an object with -o json.
func (c *Console) Resultf(v any, format string, args ...any) error {
	if c.JSON {
		return c.Object(v)
	}
	c.Linef("%s", wording.Printable(fmt.Sprintf(format, args...)))
	return nil
}

// Notef prints a line about the command to standard error.
func (c *Console) Notef(format string, args ...any) {
	fmt.Fprintln(c.Err, wording.PrintableLines(fmt.Sprintf(format, args...)))
}

// PrintError prints err to standard error: as a line, or as an object with
// -o json.
func (c *Console) PrintError(err error) {
	if c.JSON {
		_ = WriteJSON(c.Err, c.words().Report(err), c.errTerm) // there is no other place for an error
		return
	}
	c.Notef("foliot: %s", c.ErrorText(err))
}

// ErrorText returns err as the line that is printed.
func (c *Console) ErrorText(err error) string { return c.words().OneLine(err) }

func (c *Console) words() exit.Words { return exit.Words{Command: c.Command, Namespace: c.Namespace} }

// Object prints v as one line of JSON. Characters that are special in HTML are
// not escaped, so that a body is printed as it was given.
func (c *Console) Object(v any) error {
	c.printed++
	return WriteJSON(c.Out, v, c.OutTerm)
}
