package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/foliot/foliot/test/battery/harness/receiver"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// Run is one run of a scenario: its directory, its random source, its report.
// One goroutine drives it.
//
// A run is written like a test. Check, Fatalf, OK and OK2 end it at an error, as Fatal
// does, so its steps read one after the other. Each step that opens something
// registers its end with Cleanup.
type Run struct {
	Options Options
	Dir     string
	Out     io.Writer
	Rand    *rand.Rand
	Failed  bool
	Figures []Figure // the measured results, in their order

	cleanups []func() // of the current part
}

// ended is the panic of Check. Try recovers it.
type ended struct{ err error }

// Check ends the current part of the run if err is not nil. Only the goroutine
// that drives the run may call it.
func Check(err error) {
	if err != nil {
		panic(ended{err})
	}
}

// Fatalf ends the current part of the run with an error of this text.
func Fatalf(format string, args ...any) { Check(fmt.Errorf(format, args...)) }

// OK returns v if err is nil. Otherwise it ends the part, like Check.
func OK[T any](v T, err error) T {
	Check(err)
	return v
}

// OK2 is OK for two values.
func OK2[T, U any](v T, u U, err error) (T, U) {
	Check(err)
	return v, u
}

// Pause waits, and ends the part if ctx ends first.
func Pause(ctx context.Context, d time.Duration) {
	if !timing.Pause(ctx, d) {
		Check(ctx.Err())
	}
}

// Until is Pause up to an instant.
func Until(ctx context.Context, at time.Time) { Pause(ctx, time.Until(at)) }

// Cleanup registers a function that is called when the current part ends. The
// last one is called first.
func (t *Run) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

// Try runs a part of the run and then its cleanups. It returns the error that
// ended the part early and the errors of the cleanups, joined.
func (t *Run) Try(part func()) error {
	outer := t.cleanups
	t.cleanups = nil
	failed := []error{try(part)}
	for len(t.cleanups) > 0 { // a cleanup may register another one
		last := len(t.cleanups) - 1
		f := t.cleanups[last]
		t.cleanups = t.cleanups[:last]
		failed = append(failed, try(f))
	}
	t.cleanups = outer
	return errors.Join(failed...)
}

// try calls f. A panic becomes an error: that of Check as it is, any other with
// its stack.
func try(f func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case ended:
			err = p.err
		default:
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	f()
	return nil
}

// Part runs a part. An error that ends it ends the run too, under the part's
// name.
func (t *Run) Part(name string, part func()) {
	if err := t.Try(part); err != nil {
		Fatalf("%s: %w", name, err)
	}
}

// Note prints a number that does not affect the result of the run.
func (t *Run) Note(format string, args ...any) {
	fmt.Fprintf(t.Out, "       "+format+"\n", args...)
}

// Figure is one measured result, for comparisons of two binaries.
type Figure struct {
	Name  string
	Unit  string
	Value float64
}

// Each returns the n-th part of a processor time, in microseconds.
func Each(whole time.Duration, n int) float64 {
	return float64(whole.Nanoseconds()) / 1000 / float64(max(n, 1))
}

// Measured prints a result and keeps it.
func (t *Run) Measured(name, unit string, value float64) {
	t.Figures = append(t.Figures, Figure{name, unit, value})
	t.Note("%s: %.4g %s", name, value, unit)
}

// Must prints a number, and whether it keeps the promise. If ok is false, the
// run has failed.
func (t *Run) Must(ok bool, format string, args ...any) {
	word := "  ok   "
	if !ok {
		word, t.Failed = "  FAIL ", true
	}
	fmt.Fprintf(t.Out, word+format+"\n", args...)
}

// Result returns PASS or FAIL.
func (t *Run) Result() string {
	if t.Failed {
		return "FAIL"
	}
	return "PASS"
}

// Path returns the path of a file in the directory of the run.
func (t *Run) Path(name string) string { return filepath.Join(t.Dir, name) }

// Lateness prints how late the callbacks were and returns the 99th percentile.
func (t *Run) Lateness(of string, late []time.Duration) time.Duration {
	p99 := verify.Percentile(late, 99)
	t.Note("lateness %s: p50 %s, p99 %s, max %s", of, verify.Millis(verify.Percentile(late, 50)), verify.Millis(p99), verify.Millis(verify.Percentile(late, 100)))
	return p99
}

// JudgeNumbered checks the promises of every scenario in the log of a fast
// receiver, and prints the result.
func (t *Run) JudgeNumbered(n verify.Numbered, path string) verify.NumberedVerdict {
	v := OK(n.Check(receiver.ReadDeliveries(path)))
	t.Note("%s: accepted %d, arrived %d", n.Prefix, n.Count, v.Arrived)
	t.Must(v.Lost.Count == 0, "lost %v", v.Lost)
	t.Must(v.Early.Count == 0, "early %v", v.Early)
	t.Must(v.Repeats == 0, "duplicates without a fault %d", v.Repeats)
	return v
}
