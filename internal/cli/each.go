package cli

import "context"

// each calls act with each name. It prints the errors and goes on. The first
// error sets the exit code of the command.
func (c *console) each(ctx context.Context, names []string, act func(name string) error) error {
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
			first = withCode(exitCode(err), errReported)
		}
		c.notef("foliot: %s", c.errorText(err))
		if ctx.Err() != nil || exitCode(err) == exitUnreachable {
			break // the other names would fail in the same way
		}
	}
	return first
}
