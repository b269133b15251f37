package cli

import (
	"context"
	"io"
	"testing"
)

// readerFunc is a user that acts before the answer.
type readerFunc2 func([]byte) (int, error)

func (f readerFunc2) Read(p []byte) (int, error) { return f(p) }

func TestAnInterruptEndsAQuestion(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	silent, end := io.Pipe() // a user that does not answer
	defer end.Close()
	con := newConsole(readerFunc2(func(p []byte) (int, error) {
		interrupt()
		return silent.Read(p)
	}), io.Discard, io.Discard, false)
	con.canAsk = true
	if err := con.confirm(ctx, "go on?"); exitCode(err) != exitInterrupted {
		t.Errorf("it ended with %v", err)
	}
}
