package console

import (
	"context"

	"github.com/foliot/foliot/internal/cli/exit"
)

// ForEachName calls act with each name. After an error it continues with the next
// name, unless the server is unreachable. It prints the errors, and the first
// one sets the exit code of the command.
func (c *Console) ForEachName(ctx context.Context, names []string, act func(name string) error) error {
	if len(names) == 1 {
		return act(names[0])
	}
	var first error
	for _, name := range names {
		err := act(name)
		if err == nil {
			continue
		}
		if first == nil {
			first = exit.With(exit.CodeOf(err), exit.ErrReported)
		}
		c.PrintError(err)
		if ctx.Err() != nil || exit.CodeOf(err) == exit.Unreachable {
			break // the other names would fail in the same way
		}
	}
	return first
}
