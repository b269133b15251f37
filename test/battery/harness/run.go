package harness

import (
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/foliot/foliot/test/battery/harness/receiver"
	"github.com/foliot/foliot/test/battery/verify"
)

// Run is one run of a scenario: its directory, its randomness, its report.
// One goroutine drives it.
type Run struct {
	Options Options
	Dir     string
	Out     io.Writer
	Rand    *rand.Rand
	Failed  bool
}

// Note prints a number that nothing depends on.
func (t *Run) Note(format string, args ...any) {
	fmt.Fprintf(t.Out, "       "+format+"\n", args...)
}

// Must prints a number and whether it is as promised.
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

// MustTally prints the tally of a fast receiver's log, and checks the promises of
// every scenario.
func (t *Run) MustTally(n verify.Numbered, path string) (verify.Tally, error) {
	v, err := n.Tally(receiver.ReadDeliveries(path))
	if err != nil {
		return v, err
	}
	t.Note("%s: accepted %d, arrived %d", n.Prefix, n.Count, v.Arrived)
	t.Must(v.Lost.Count == 0, "lost %v", v.Lost)
	t.Must(v.Early.Count == 0, "early %v", v.Early)
	t.Must(v.Repeats == 0, "duplicates without a fault %d", v.Repeats)
	return v, nil
}
