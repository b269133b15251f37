package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
)

// trial is a command that creates a task for its own receiver.
var trial = []string{"listen", "127.0.0.1:0", "--try", "50ms"}

// The server of this test may not call loopback.
func TestATrialReportsAtOnceWhyItsTaskWasNotDelivered(t *testing.T) {
	quick.Leave(t, "waits for an obstacle")
	t.Parallel()
	p := serveHere(t, "--listen", anyPort, "--store", "memory:", "--egress-deny", "127.0.0.0/8")
	began := time.Now()
	_, errs, code := p.foliot(trial...)
	if took := time.Since(began); code != exit.Undelivered || took > time.Minute ||
		!strings.Contains(errs, "was not delivered: it is dead: refused by the egress policy") || !strings.Contains(errs, "foliot doctor egress http://127.0.0.1:") {
		t.Errorf("it ended with %d after %v: %s", code, took, errs)
	}
	if left := p.must("ls", "--state", "scheduled"); left != "" {
		t.Errorf("it left tasks behind: %s", left)
	}
}

// The trial continues after the reason of the wait is gone.
func TestATrialReportsAtOnceWhyItsTaskWaits(t *testing.T) {
	quick.Leave(t, "waits for an obstacle")
	t.Parallel()
	p := serveHere(t, "--listen", anyPort, "--store", "memory:")
	p.must("queue", "pause", "default")
	b := start(t, append([]string{"--server", p.url}, trial...)...)
	for line := ""; !strings.Contains(line, "has not been delivered yet: the queue default is paused; foliot queue resume default"); {
		line = b.line(t, b.stderr)
	}
	for _, output := range []io.Reader{b.stdout, b.stderr} {
		go func() { _, _ = io.Copy(io.Discard, output) }() // the pipes have no buffer
	}
	p.must("queue", "resume", "default")
	if code := <-b.code; code != exit.OK {
		t.Errorf("it ended with %d", code)
	}
}

// A trial needs a token of scope write. Without one, the error names the
// remedy.
func TestATrialWorksOnASecuredServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeToken(t, dir)
	out, errs, code := newSession(t).runBare("token", "create", "--data", dir, "--scope", "write")
	if code != exit.OK {
		t.Fatal(errs)
	}
	token := filepath.Join(t.TempDir(), "token")
	fatal.If(t, os.WriteFile(token, []byte(out), 0o600))
	p := serveHere(t, "--listen", anyPort, "--data", dir, "--egress-allow", "127.0.0.1/32")
	wants(t, exit.OK)(p.foliot(append([]string{"--token-file", token}, trial...)...))
	if _, errs, code := p.foliot(trial...); code == exit.OK || !strings.Contains(errs, "token") {
		t.Errorf("without a token it ended with %d: %s", code, errs)
	}
}
