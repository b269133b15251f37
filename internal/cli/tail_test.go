package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/wire"
)

// untilLine is an output that calls end after its first line.
type untilLine struct {
	bytes.Buffer
	end func()
}

func (u *untilLine) Write(p []byte) (int, error) {
	n, err := u.Buffer.Write(p)
	if bytes.Contains(p, []byte("\n")) {
		u.end()
	}
	return n, err
}

func TestTailPrintsAttemptsAsTheyEnd(t *testing.T) {
	t.Parallel()
	p := serveHere(t, "--listen", anyPort, "--store", "memory:")
	for _, earlier := range []bool{false, true} { // the task is created after the command begins, or before
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		name := map[bool]string{true: "earlier", false: "later"}[earlier]
		create := func() {
			p.must("add", "http://127.0.0.1:1/", "--in", "0s", "--max-attempts", "1", "--name", name, "--queue", name)
		}
		if earlier {
			create()
		}
		out := &untilLine{end: stop}
		var errs bytes.Buffer
		ended := make(chan int)
		go func() {
			ended <- run(ctx, []string{"--server", p.url, "tail", "--queue", name, "--outcome", "failed", "-o", "json"}, strings.NewReader(""), out, &errs)
		}()
		if !earlier {
			create()
		}
		if code := <-ended; code != exit.OK || errs.Len() > 0 {
			t.Errorf("%s: it ended with %d and printed %q", name, code, errs.String())
		}
		var a wire.EndedAttempt
		if err := json.Unmarshal(out.Bytes(), &a); err != nil || a.Task != name || a.Outcome != "failed" || !a.Dead {
			t.Errorf("%s: it printed %q: %v", name, out.String(), err)
		}
	}
	wants(t, exit.Usage, "--outcome: must be one of delivered")(p.foliot("tail", "--outcome", "lost"))
	wants(t, exit.Usage, "--last: ")(p.foliot("tail", "-n", "1001"))
}
