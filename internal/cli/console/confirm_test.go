package console

import (
	"context"
	"io"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
)

// readerFunc is a user that acts before the answer.
type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestAnInterruptEndsAQuestion(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	silent, end := io.Pipe() // a user that does not answer
	defer end.Close()
	con := New(readerFunc(func(p []byte) (int, error) {
		interrupt()
		return silent.Read(p)
	}), io.Discard, io.Discard, false)
	con.CanAsk = true
	if err := con.Confirm(ctx, "go on?"); exit.CodeOf(err) != exit.Interrupted {
		t.Errorf("it ended with %v", err)
	}
}
