package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/usage"
)

// confirm asks the person at the terminal; anything but yes is a no. It returns an
// error that names --yes if there is no terminal.
func (c *console) confirm(ctx context.Context, question string, args ...any) error {
	asked := fmt.Sprintf(question, args...)
	if !c.canAsk {
		return usage.Errorf("--yes", "not a terminal, so this cannot be confirmed: %s Pass --yes to confirm", asked)
	}
	fmt.Fprint(c.err, wording.Printable(asked)+" [y/N] ")
	answers := make(chan string, 1)
	go func() { answers <- readAnswer(c.in) }() // after an interrupt it lives on: nothing ends a read from a terminal
	select {
	case answer := <-answers:
		if a := strings.ToLower(strings.TrimSpace(answer)); a == "y" || a == "yes" {
			return nil
		}
		return &fault{exitInterrupted, errors.New("nothing was done")}
	case <-ctx.Done():
		fmt.Fprintln(c.err)
		return ctx.Err()
	}
}

// readAnswer reads a line, and nothing after it: the next answer may follow.
func readAnswer(in io.Reader) string {
	var line []byte
	for one := make([]byte, 1); ; {
		n, err := in.Read(one)
		if n > 0 && one[0] != '\n' {
			line = append(line, one[0])
		}
		if err != nil || n > 0 && one[0] == '\n' { // the end of the input is a no
			return string(line)
		}
	}
}
