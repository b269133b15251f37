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
			p := serveHere(t, append([]string{"--listen", anyPort, "--store", "memory:"}, flags...)...)
			_, addr, _ := strings.Cut(p.url, "://")
			ask := append([]string{"health", "--listen", addr}, flags...)
			for _, more := range [][]string{nil, {"--ready"}} {
				wants(t, exit.OK, "200 OK")(newSession(t).runBare(append(ask, more...)...))
			}
			p.kill()
			if _, errs, code := newSession(t).runBare(ask...); code == exit.OK || !strings.Contains(errs, addr) {
				t.Errorf("without a server: code %d, %s", code, errs)
			}
		})
	}
}

// The flags of foliot health are those of foliot serve. --server would be
// ignored.
func TestHealthRefusesAServerAndNamesTheRemedyForTLS(t *testing.T) {
	wants(t, exit.Usage, "--listen or --config", "foliot doctor --server URL")(newSession(t).runBare("health", "--server", "https://localhost:9999"))
	t.Setenv("FOLIOT_SERVER", "https://localhost:9999")
	wants(t, exit.Failure, "FOLIOT_SERVER changes nothing")(newSession(t).runBare("health", "--listen", "127.0.0.1:1"))
	files := servertest.NewAuthority(t).Files(servertest.InAYear())
	p := serveHere(t, "--listen", anyPort, "--store", "memory:", "--tls-cert", files.Cert, "--tls-key", files.Key)
	_, addr, _ := strings.Cut(p.url, "://")
	wants(t, exit.Failure, "uses TLS: pass its --config, or its --tls-cert and --tls-key")(newSession(t).runBare("health", "--listen", addr))
}
