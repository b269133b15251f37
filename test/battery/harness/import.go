package harness

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness/system"
	"github.com/foliot/foliot/test/battery/verify"
)

// ImportNumbered imports tasks before they are due, as a user would.
func (e *Environment) ImportNumbered(ctx context.Context, n verify.Numbered, queue, callback string) {
	file := e.Path(n.Prefix + ".ndjson")
	Check(WriteInputs(file, n.Count, func(i int) wire.TaskInput {
		in := Task(n.Name(i), callback, n.Due(i))
		in.Queue = queue
		return in
	}))
	created, seconds := e.ImportFile(ctx, file)
	e.Run.Note("%s: imported %d in %.1f s, %.0f a second", n.Prefix, created, seconds, float64(created)/seconds)
	ahead := time.Until(n.Due(0))
	e.Run.Must(created == n.Count && ahead > 0, "created %d of %d, %s before the first is due", created, n.Count, verify.Millis(ahead))
}

// LeadFor returns how far ahead tasks must be due, so that their import ends
// before the first is due.
func LeadFor(count int) time.Duration {
	const slowest = 20_000 // a second: the promise of million
	return 5*time.Second + time.Duration(count)*time.Second/slowest
}

// RunFoliot runs a command of the binary. It decodes the JSON output into out,
// unless out is nil.
func (e *Environment) RunFoliot(ctx context.Context, out any, args ...string) error {
	cmd := exec.CommandContext(ctx, e.Server.Binary, append(args, "-o", "json")...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("foliot %s: %w\n%s", args[0], err, stderr.Bytes())
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(stdout.Bytes(), out); err != nil {
		return fmt.Errorf("foliot %s printed %q: %w", args[0], stdout.String(), err)
	}
	return nil
}

// WriteInputs writes a file for import.
func WriteInputs(path string, count int, of func(i int) wire.TaskInput) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	enc := json.NewEncoder(w)
	for i := range count {
		if err := enc.Encode(of(i)); err != nil {
			return err
		}
	}
	return w.Flush()
}

// ImportFile runs foliot import and returns its report, with the time measured
// here.
func (e *Environment) ImportFile(ctx context.Context, file string) (created int, seconds float64) {
	var reply struct{ Created int }
	began, before := time.Now(), OK(system.CPUOf(e.Server.PID()))
	Check(e.RunFoliot(ctx, &reply, "import", file, "--server", e.Server.URL()))
	seconds = time.Since(began).Seconds()
	if n := float64(reply.Created); n > 0 {
		e.Run.Measured("import", "a second", n/seconds)
		e.Run.Measured("import, server", "us each", float64((OK(system.CPUOf(e.Server.PID()))-before).Microseconds())/n)
	}
	return reply.Created, seconds
}
