package transfer

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/task"
)

// readLines returns the first batch of a file, and the error of the reader.
func readLines(ctx context.Context, text string) (importBatch, error) {
	con := console.New(nil, io.Discard, io.Discard, false)
	im := &importer{con: con, batch: 1000, bar: console.NewProgress(con, "imported", -1)}
	batches := make(chan importBatch, 2)
	err := im.read(ctx, strings.NewReader(text), batches)
	close(batches)
	return <-batches, err
}

// An export may escape a body in this way.
func TestALineHoldsTheLargestBodyHoweverItIsEscaped(t *testing.T) {
	line := `{"delay":"1h","http":{"url":"http://127.0.0.1:9/","body":"` + strings.Repeat(`\u0001`, task.MaxBody) + `"}}`
	b, err := readLines(t.Context(), "\n \r\n"+line)
	fatal.If(t, err)
	if len(b.texts) != 1 || string(b.texts[0]) != line || b.numbers[0] != 3 {
		t.Errorf("%d lines, numbers %v", len(b.texts), b.numbers)
	}
}

func TestALineThatNoTaskNeedsEndsTheImportWithItsNumber(t *testing.T) {
	b, err := readLines(t.Context(), "{}\n\n{}\n"+strings.Repeat("x", maxLine+2)+"\n{}\n")
	if err == nil || !strings.Contains(err.Error(), "line 4 is longer than ") || len(b.numbers) != 2 {
		t.Errorf("%v, lines %v", err, b.numbers)
	}
}

func TestAFailedReadNamesItsLine(t *testing.T) {
	con := console.New(nil, io.Discard, io.Discard, false)
	im := &importer{con: con, batch: 1000, bar: console.NewProgress(con, "imported", -1)}
	broken := errors.New("broken")
	err := im.read(t.Context(), io.MultiReader(strings.NewReader("{}\n"), failing{broken}), make(chan importBatch, 2))
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "line 2") {
		t.Error(err)
	}
}

type failing struct{ error }

func (f failing) Read([]byte) (int, error) { return 0, f.error }

// Otherwise, a sender that sees no more batches would take the file for done.
func TestAnInterruptedReadIsNoEndOfTheFile(t *testing.T) {
	ctx, interrupt := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	interrupt(why)
	if _, err := readLines(ctx, "{}\n{}\n"); !errors.Is(err, why) {
		t.Error(err)
	}
}
