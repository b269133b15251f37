package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/servertest"
)

// tokenFile writes a new token into a file.
func tokenFile(t *testing.T) (file, token string) {
	t.Helper()
	out, errs, code := newSession(t).runBare("token", "generate")
	if code != exit.OK {
		t.Fatal(errs)
	}
	file = filepath.Join(t.TempDir(), "operator.token")
	servertest.WriteFile(t, file, []byte(out))
	return file, strings.TrimSpace(out)
}

// tokens returns the ids of a server's tokens by their labels.
func (p *process) tokens() map[string]string {
	p.t.Helper()
	ids := map[string]string{}
	for line := range strings.Lines(p.must("token", "ls", "-o", "json")) {
		var one struct{ ID, Label string }
		fatal.If(p.t, json.Unmarshal([]byte(line), &one))
		ids[one.Label] = one.ID
	}
	return ids
}

func TestAFileMakesTheFirstTokenAndNoOther(t *testing.T) {
	dir := t.TempDir()
	file, token := tokenFile(t)
	open := func(file string) *process {
		t.Helper()
		return serveHere(t, "--listen", anyPort, "--data", dir, "--bootstrap-token-file", file)
	}
	stop := func(p *process) (log string) {
		t.Helper()
		p.signal(terminate)
		code, log := p.exit()
		if code != exit.OK {
			t.Fatalf("it ended with %d:\n%s", code, log)
		}
		return log
	}
	p := open(file)
	if _, errs, code := p.foliot("ls"); code == exit.OK {
		t.Errorf("a request without a token is accepted: %s", errs)
	}
	t.Setenv("FOLIOT_TOKEN", token)
	shows(t, p.must("whoami"), "operator\tyes\n", "scope\tadmin\n")
	shows(t, p.must("audit", "--action", "token.create"), "foliot serve --bootstrap-token-file")
	if log := stop(p); !strings.Contains(log, "the first token was created from the file") || strings.Contains(log, token) {
		t.Errorf("the log:\n%s", log)
	}

	p = open(file)
	if got := p.tokens(); len(got) != 1 {
		t.Errorf("after a second start there are the tokens %q", got)
	}
	spare := strings.TrimSpace(p.must("token", "create", "--for", "operator", "--scope", "admin", "--label", "spare"))
	if log := stop(p); strings.Contains(log, "level=WARN") {
		t.Errorf("a second start warns:\n%s", log)
	}

	other, stranger := tokenFile(t)
	p = open(other)
	t.Setenv("FOLIOT_TOKEN", stranger)
	if _, errs, code := p.foliot("ls"); code == exit.OK {
		t.Errorf("the token of another file is accepted: %s", errs)
	}
	t.Setenv("FOLIOT_TOKEN", spare)
	p.must("token", "revoke", p.tokens()["bootstrap"])
	shows(t, stop(p), "the token in the file is not valid")

	p = open(file)
	t.Setenv("FOLIOT_TOKEN", token)
	if _, errs, code := p.foliot("ls"); code == exit.OK {
		t.Errorf("the revoked token is accepted: %s", errs)
	}
	shows(t, stop(p), "the token in the file is not valid")
}

// A server beyond loopback needs a token before the first client can reach it.
func TestAFileOpensAServerToOtherMachines(t *testing.T) {
	file, token := tokenFile(t)
	t.Setenv("FOLIOT_TOKEN", token)
	a := servertest.NewAuthority(t)
	files, ca := a.Files(servertest.InAYear()), filepath.Join(t.TempDir(), "ca.pem")
	servertest.WriteFile(t, ca, servertest.PEM("CERTIFICATE", a.Cert.Raw))
	for _, store := range []string{"memory:", filepath.Join(t.TempDir(), "data")} {
		p := serveHere(t, "--listen", "0.0.0.0:0", "--store", store, "--tls-cert", files.Cert, "--tls-key", files.Key, "--bootstrap-token-file", file)
		p.must("ls", "--ca-cert", ca)
	}
}

func TestServersOfOneRedisMakeOneFirstToken(t *testing.T) {
	r := redistest.New(t)
	file, token := tokenFile(t)
	t.Setenv("FOLIOT_TOKEN", token)
	var wait sync.WaitGroup
	nodes := make([]*process, 3)
	for i := range nodes {
		wait.Go(func() {
			nodes[i] = serveHere(t, "--listen", anyPort, "--store", "redis://"+r.Addr, "--bootstrap-token-file", file)
		})
	}
	wait.Wait()
	for _, p := range nodes {
		if got := p.tokens(); len(got) != 1 || got["bootstrap"] == "" {
			t.Errorf("the tokens are %q", got)
		}
	}
	created := 0
	for _, p := range nodes {
		p.signal(terminate)
		_, log := p.exit()
		created += strings.Count(log, "the first token was created")
		if strings.Contains(log, "level=WARN msg=\"the token") {
			t.Errorf("a server warns:\n%s", log)
		}
	}
	if created != 1 {
		t.Errorf("%d servers created the token", created)
	}
}

func TestAFileWithoutATokenIsRefused(t *testing.T) {
	dir, file := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "f")
	for name, text := range map[string]string{"empty": "", "a password": "hunter2\n", "cut": "foliot_AAAA\n"} {
		servertest.WriteFile(t, file, []byte(text))
		_, errs, code := newSession(t).runBare("serve", "--listen", "127.0.0.1:0", "--data", dir, "--bootstrap-token-file", file)
		if code != exit.Usage || !strings.Contains(errs, "--bootstrap-token-file: ") || !strings.Contains(errs, "foliot token generate") || strings.Contains(errs, "hunter2") {
			t.Errorf("%s: code %d, %s", name, code, errs)
		}
	}
	servertest.WriteFile(t, file, []byte("x"))
	fatal.If(t, os.Chmod(file, 0o644))
	wants(t, exit.Usage, "chmod 6")(newSession(t).runBare("serve", "--listen", "127.0.0.1:0", "--data", dir, "--bootstrap-token-file", file))
	if _, err := os.Stat(dir); err == nil {
		t.Error("a refused start made the directory")
	}
}
