package cli

import (
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/servertest"
)

func TestHealthAsksTheServerOfTheSameConfiguration(t *testing.T) {
	a := servertest.NewAuthority(t)
	files := a.Files(servertest.InAYear())
	file, _ := tokenFile(t)
	for name, flags := range map[string][]string{
		"plain":               nil,
		"TLS":                 {"--tls-cert", files.Cert, "--tls-key", files.Key},
		"a token is required": {"--bootstrap-token-file", file},
	} {
		t.Run(name, func(t *testing.T) {
			p := serveProcess(t, append([]string{"--listen", anyPort, "--store", "memory:"}, flags...)...)
			_, addr, _ := strings.Cut(p.url, "://")
			ask := append([]string{"health", "--listen", addr}, flags...)
			for _, more := range [][]string{nil, {"--ready"}} {
				if out, errs, code := newSession(t).runBare(append(ask, more...)...); code != exit.OK || !strings.Contains(out, "200 OK") {
					t.Errorf("%v: code %d, %s%s", more, code, out, errs)
				}
			}
			p.kill()
			if _, errs, code := newSession(t).runBare(ask...); code == exit.OK || !strings.Contains(errs, addr) {
				t.Errorf("without a server: code %d, %s", code, errs)
			}
		})
	}
}
