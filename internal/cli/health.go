package cli

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/cli/connect"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/server/httpserver"
	"github.com/foliot/foliot/internal/usage"
)

// healthTime bounds a check. Docker's own limit for a health check is longer.
const healthTime = 5 * time.Second

type healthCmd struct {
	Ready bool `file:"-" help:"Ask whether the server takes requests (/readyz), not only whether it lives (/healthz)."`

	config.Flags
}

func (healthCmd) Help() string {
	return `Asks the server on this machine that has the same flags, variables and file. It exits with 0 if the server is healthy. It needs
no token. It is the health check of the container image, which has no other programs.

Examples:

    foliot health
    foliot health --ready
    foliot health --config /etc/foliot/foliot.yaml
    foliot health --listen 127.0.0.1:9000`
}

func (c *healthCmd) Run(ctx context.Context, con *console.Console, calls *connect.Flags, parsed *kong.Context, file *config.Values) error {
	if calls.Typed["server"] {
		return usage.Errorf("--server", "this command checks only the server on this machine that --listen or --config describes; `foliot doctor --server URL` examines another server")
	}
	if calls.Server != "" {
		con.Notef("FOLIOT_SERVER changes nothing: this command checks the server on this machine that --listen or --config describes")
	}
	pair, err := connect.ClientCertificate("--client-cert", calls.ClientCert, "--client-key", calls.ClientKey)
	if err != nil {
		return err
	}
	cfg, _, err := c.ResolveFrom(parsed, file)
	if err != nil {
		return err
	}
	listen, err := net.ResolveTCPAddr("tcp", cfg.Addr)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	ctx, stop := context.WithTimeout(ctx, healthTime)
	defer stop()
	return askHealth(ctx, con, cfg, httpserver.ReachableAddr(listen), c.Ready, pair)
}

// askHealth asks the server at addr. The server is on this machine, so its
// certificate is not checked: it may name only the host that clients use. A
// server that requires certificates of its clients counts as healthy as soon as
// it answers the handshake, unless pair is a certificate for it.
func askHealth(ctx context.Context, con *console.Console, cfg config.Config, addr string, ready bool, pair *tls.Certificate) error {
	insecure := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // see above
	if pair != nil {
		insecure.Certificates = []tls.Certificate{*pair}
	} else if cfg.TLS.ClientCA != "" {
		conn, err := (&tls.Dialer{Config: insecure}).DialContext(ctx, "tcp", addr)
		if err != nil {
			return fmt.Errorf("the server at %s does not answer: %w", addr, err)
		}
		con.Linef("the server at %s answers", addr)
		return conn.Close()
	}
	url := "http://" + addr + "/healthz"
	if cfg.TLS.Cert != "" {
		url = "https" + strings.TrimPrefix(url, "http")
	}
	if ready {
		url = strings.TrimSuffix(url, "healthz") + "readyz"
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	reply, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: insecure, DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return fmt.Errorf("the server does not answer: %w", err)
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(reply.Body, 1000))
		if cfg.TLS.Cert == "" && strings.Contains(string(text), "HTTP request to an HTTPS server") {
			return fmt.Errorf("the server at %s uses TLS: pass its --config, or its --tls-cert and --tls-key", addr)
		}
		return fmt.Errorf("%s returns %s: %s", url, reply.Status, strings.TrimSpace(string(text)))
	}
	con.Linef("%s returns %s", url, reply.Status)
	return nil
}
