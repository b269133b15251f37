package directory

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// prober sends requests with a token every few milliseconds, from an address of
// its own. end stops it and waits.
type prober struct {
	stop   func()
	probes []verify.Probe // of its goroutine until end
}

func startProber(ctx context.Context, c *harness.Client, token string) *prober {
	p := &prober{}
	shown := harness.NewClientFrom(net.IPv4(127, 0, 0, 2), c.Base)
	shown.Token = token
	p.stop = timing.InBackground(ctx, func(ctx context.Context) {
		defer shown.Close()
		for timing.Pause(ctx, 10*time.Millisecond) {
			sent := time.Now()
			status, _, err := shown.Call(context.WithoutCancel(ctx), http.MethodGet, "/tasks?limit=1", nil)
			if err != nil {
				status = 0
			}
			p.probes = append(p.probes, verify.Probe{Sent: sent, Status: status})
		}
	})
	return p
}

func (p *prober) end() []verify.Probe {
	p.stop()
	return p.probes
}

// mustPassBeside repeatedly uses a revoked token, like a client that does not
// know of the revocation. Its address is that of other clients too, as behind a
// proxy. During this time the server must accept a valid token from that
// address.
func mustPassBeside(ctx context.Context, t *harness.Run, revoked, good *harness.Client) {
	const shown = 50
	var last int
	for range shown {
		status, _ := harness.OK2(revoked.Call(ctx, http.MethodGet, "/tasks?limit=1", nil))
		last = status
	}
	status, _, err := good.Call(ctx, http.MethodGet, "/tasks?limit=1", nil)
	t.Must(status == http.StatusOK, "a good token right after a revoked one was shown %d times from the same address: status %d; the revoked one: %d", shown, status, last)
	harness.Check(err)
}
