package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/quick"
)

// trials are the commands that create tasks for their own receiver.
var trials = map[string][]string{
	"listen": {"listen", "127.0.0.1:0", "--try", "50ms"},
}

// The server of this test may not call loopback.
func TestATrialReportsAtOnceWhyItsTaskWasNotDelivered(t *testing.T) {
	quick.Leave(t, "waits for an obstacle")
	t.Parallel()
	p := serveHere(t, "--listen", anyPort, "--store", "memory:", "--egress-deny", "127.0.0.0/8")
	for name, args := range trials {
		began := time.Now()
		_, errs, code := p.foliot(args...)
		if took := time.Since(began); code != exit.Undelivered || took > time.Minute ||
			!strings.Contains(errs, "was not delivered: it is dead: refused by the egress policy") || !strings.Contains(errs, "foliot doctor egress http://127.0.0.1:") {
			t.Errorf("%s ended with %d after %v: %s", name, code, took, errs)
		}
	}
	if left := p.must("ls", "--state", "scheduled"); left != "" {
		t.Errorf("they left tasks behind: %s", left)
	}
}

// The trial continues after the reason of the wait is gone.
func TestATrialReportsAtOnceWhyItsTaskWaits(t *testing.T) {
	quick.Leave(t, "waits for an obstacle")
	t.Parallel()
	for name, args := range trials {
		p := serveHere(t, "--listen", anyPort, "--store", "memory:")
		queue := "default"
		p.must("queue", "pause", queue)
		trial := start(t, append([]string{"--server", p.url}, args...)...)
		for line := ""; !strings.Contains(line, "has not been delivered yet: the queue "+queue+" is paused; foliot queue resume "+queue); {
			line = trial.line(t, trial.stderr)
		}
		go func() { // read the output, because the pipes have no buffer
			for {
				if _, err := trial.stdout.ReadString('\n'); err != nil {
					return
				}
			}
		}()
		go func() {
			for {
				if _, err := trial.stderr.ReadString('\n'); err != nil {
					return
				}
			}
		}()
		p.must("queue", "resume", queue)
		if code := <-trial.code; code != exit.OK {
			t.Errorf("%s ended with %d", name, code)
		}
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
	if err := os.WriteFile(token, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	p := serveHere(t, "--listen", anyPort, "--data", dir, "--egress-allow", "127.0.0.1/32")
	for name, args := range trials {
		if _, errs, code := p.foliot(append([]string{"--token-file", token}, args...)...); code != exit.OK {
			t.Errorf("%s ended with %d: %s", name, code, errs)
		}
		if _, errs, code := p.foliot(args...); code == exit.OK || !strings.Contains(errs, "token") {
			t.Errorf("%s without a token ended with %d: %s", name, code, errs)
		}
	}
}
