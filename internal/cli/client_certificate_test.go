package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/servertest"
)

// The request of a client without a certificate fails while it is written or
// while the reply is read. The error must not depend on that.
func TestAClientCertificateIsSentAndTheErrorWithoutOneNamesTheFlags(t *testing.T) {
	ownContexts(t)
	a := servertest.NewAuthority(t)
	files, own := a.Files(servertest.InAYear()), a.Files(servertest.InAYear())
	ca := filepath.Join(t.TempDir(), "ca.pem")
	servertest.WriteFile(t, ca, servertest.PEM("CERTIFICATE", a.Cert.Raw))
	serve := []string{"--tls-cert", files.Cert, "--tls-key", files.Key, "--tls-client-ca", ca}
	p := serveHere(t, append([]string{"--listen", anyPort, "--store", "memory:"}, serve...)...)
	_, addr, _ := strings.Cut(p.url, "://")
	for range 20 {
		const want = "(the server requires a client certificate): pass one with --client-cert and --client-key, or FOLIOT_CLIENT_CERT and FOLIOT_CLIENT_KEY\n"
		if _, stderr, code := p.foliot("ls", "--ca-cert", ca); code != exit.Unreachable || !strings.HasSuffix(stderr, want) {
			t.Fatalf("without a certificate: %d: %s", code, stderr)
		}
	}
	wants(t, exit.Unreachable, "--ca-cert")(p.foliot("ls"))
	p.must("ls", "--ca-cert", ca, "--client-cert", own.Cert, "--client-key", own.Key)
	if out, _, _ := p.foliot("doctor", "--ca-cert", ca, "--client-cert", own.Cert, "--client-key", own.Key); !strings.Contains(out, "ok   certificate  it expires ") {
		t.Errorf("doctor does not show the certificate:\n%s", out)
	}
	p.must("context", "add", "here", "--server", p.url, "--ca-cert", ca, "--client-cert", own.Cert, "--client-key", own.Key)
	p.must("ls", "--context", "here")
	if out := p.must("whoami", "--context", "here"); !strings.HasPrefix(out, "url\t"+p.url+"\ncontext\there\n") {
		t.Errorf("whoami prints %s", out)
	}
	for args, want := range map[string]string{
		"--client-cert " + own.Cert:                                "it needs --client-key",
		"--client-key " + own.Key:                                  "it needs --client-cert",
		"--client-cert " + own.Cert + " --client-key " + files.Key: "private key does not match",
	} {
		wants(t, exit.Usage, want)(p.foliot(append([]string{"ls"}, strings.Fields(args)...)...))
	}

	health := append([]string{"health", "--ready", "--listen", addr}, serve...)
	t.Setenv("FOLIOT_CLIENT_CERT", own.Cert)
	t.Setenv("FOLIOT_CLIENT_KEY", own.Key)
	wants(t, exit.OK, "/readyz returns 200 OK")(newSession(t).runBare(health...))
}
