package cli

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/servertest"
)

func TestSIGHUPReloadsTheCertificate(t *testing.T) {
	a := servertest.NewAuthority(t)
	files := a.Files(servertest.InAYear())
	ca := filepath.Join(t.TempDir(), "ca.pem")
	servertest.WriteFile(t, ca, servertest.PEM("CERTIFICATE", a.Cert.Raw))
	p := serveProcess(t, "--listen", anyPort, "--store", "memory:", "--tls-cert", files.Cert, "--tls-key", files.Key)
	if !strings.HasPrefix(p.url, "https://") {
		t.Errorf("it listens on %s", p.url)
	}
	p.must("ls", "--ca-cert", ca)
	servertest.WriteFile(t, files.Key, []byte("half a key"))
	p.signal(syscall.SIGHUP)
	p.await("level=ERROR")
	p.must("ls", "--ca-cert", ca)
	a.Renew(files, servertest.InAYear())
	p.signal(syscall.SIGHUP)
	p.await("the server loaded new TLS files")
	p.must("ls", "--ca-cert", ca)
	p.signal(terminate)
	if code, log := p.exit(); code != exit.OK {
		t.Errorf("it ended with %d:\n%s", code, log)
	}
}
