package main

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// prober shows a token every few milliseconds, from an address of its own; end
// stops it and waits.
type prober struct {
	stop   func()
	probes []verify.Probe // of its goroutine until end
}

func (c *client) probe(ctx context.Context, token string) *prober {
	p := &prober{}
	shown := newClientFrom(net.IPv4(127, 0, 0, 2), c.base)
	shown.token = token
	p.stop = timing.InBackground(ctx, func(ctx context.Context) {
		defer shown.close()
		for timing.Pause(ctx, 10*time.Millisecond) {
			sent := time.Now()
			status, _, err := shown.call(context.WithoutCancel(ctx), http.MethodGet, "/tasks?limit=1", nil)
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

// mustPassBeside shows a revoked token as a client does that nobody told of the
// revocation: again and again, from an address that others share, as all do
// who come through a proxy. A good token must pass meanwhile.
func (t *trial) mustPassBeside(ctx context.Context, revoked, good *client) error {
	const shown = 50
	var last int
	for range shown {
		status, _, err := revoked.call(ctx, http.MethodGet, "/tasks?limit=1", nil)
		if err != nil {
			return err
		}
		last = status
	}
	status, _, err := good.call(ctx, http.MethodGet, "/tasks?limit=1", nil)
	t.must(status == http.StatusOK, "a good token right after a revoked one was shown %d times from the same address: status %d; the revoked one: %d", shown, status, last)
	return err
}
