package cli

import (
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/servertest"
)

// Scripts that rotate logs or certificates send SIGHUP to all servers.
func TestSIGHUPWithoutTLSIsALogLineAndEndsOtherCommands(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("nohup started the test, so commands ignore SIGHUP")
	}
	t.Parallel()
	p := serveProcess(t, "--listen", anyPort, "--store", "memory:")
	for range 2 {
		p.signal(syscall.SIGHUP)
		p.await("SIGHUP has no effect: the server has no TLS files to reload")
		p.must("ls")
	}
	reading := foliotCommand(t, "import", "-") // its standard input stays open, as when a terminal closes
	if _, err := reading.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	fatal.If(t, reading.Start())
	defer reading.Process.Kill()
	_ = reading.Process.Signal(syscall.SIGHUP)
	if err := reading.Wait(); err == nil {
		t.Error("a command that reads its standard input ended well")
	}
	p.signal(terminate)
	if code, log := p.exit(); code != exit.OK || !strings.Contains(log, "msg=stopped") {
		t.Errorf("it ended with %d:\n%s", code, log)
	}
}

func TestSIGHUPReloadsTheCertificate(t *testing.T) {
	t.Parallel()
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

func TestDoctorReportsTLSFilesThatTheServerCannotUse(t *testing.T) {
	t.Parallel()
	a := servertest.NewAuthority(t)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	servertest.WriteFile(t, ca, servertest.PEM("CERTIFICATE", a.Cert.Raw))
	for _, memory := range []bool{false, true} {
		files := a.Files(servertest.InAYear())
		place := []string{"--data", filepath.Join(t.TempDir(), "data")}
		if memory {
			place = []string{"--store", "memory:"}
		}
		p := serveProcess(t, append(place, "--listen", anyPort, "--tls-cert", files.Cert, "--tls-key", files.Key)...)
		out, _, _ := p.foliot("-o", "json", "doctor", "--ca-cert", ca)
		found := findingsOf(t, out)
		if _, reported := found["tls-files"]; reported {
			t.Error(out)
		}
		if examined := strings.Contains(found["space"].Says, "free of"); examined == memory {
			t.Errorf("memory: %v; the disk is examined: %v\n%s", memory, examined, out)
		}
		servertest.WriteFile(t, files.Key, []byte("half a key"))
		p.signal(syscall.SIGHUP)
		p.await("the new TLS files cannot be used")
		out, _, code := p.foliot("-o", "json", "doctor", "--ca-cert", ca)
		if broken := findingsOf(t, out)["tls-files"]; code != exit.Failure || broken.OK || !strings.Contains(broken.Says, "cannot be used") {
			t.Errorf("memory: %v; it ended with %d:\n%s", memory, code, out)
		}
	}
}
