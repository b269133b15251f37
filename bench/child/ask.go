package child

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// Ask starts a process in a role, calls one method, and ends the process.
func Ask(ctx context.Context, role, method string, args, reply any) error {
	p, err := Start(role)
	if err != nil {
		return err
	}
	return errors.Join(p.Call(ctx, method, args, reply), p.End())
}

// Main serves the method receiver of this process's role, and ends the process.
// It returns if this process is no child.
func Main(receivers map[string]any) {
	role := Role()
	if role == "" {
		return
	}
	err := fmt.Errorf("unknown role %q", role)
	if receiver, ok := receivers[role]; ok {
		err = Serve(receiver)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
