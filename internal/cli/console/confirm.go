package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/usage"
)

// Confirm asks the user at the terminal. It returns nil if the answer is y or
// yes, and an error otherwise. Without a terminal the error names --yes.
func (c *Console) Confirm(ctx context.Context, question string, args ...any) error {
	asked := fmt.Sprintf(question, args...)
	if !c.CanAsk {
		return usage.Errorf("--yes", "not a terminal, so this cannot be confirmed: %s Pass --yes to confirm", asked)
	}
	fmt.Fprint(c.Err, wording.Printable(asked)+" [y/N] ")
	answers := make(chan string, 1)
	go func() { answers <- readAnswer(c.In) }() // survives an interrupt, because a terminal read cannot be cancelled
	select {
	case answer := <-answers:
		if a := strings.ToLower(strings.TrimSpace(answer)); a == "y" || a == "yes" {
			return nil
		}
		return exit.With(exit.Interrupted, errors.New("not confirmed: nothing was changed"))
	case <-ctx.Done():
		fmt.Fprintln(c.Err)
		return ctx.Err()
	}
}

// readAnswer reads one line and leaves later input for the next answer.
func readAnswer(in io.Reader) string {
	var line []byte
	for one := make([]byte, 1); ; {
		n, err := in.Read(one)
		if n > 0 && one[0] != '\n' {
			line = append(line, one[0])
		}
		if err != nil || n > 0 && one[0] == '\n' { // at the end of the input, the answer is not yes
			return string(line)
		}
	}
}
