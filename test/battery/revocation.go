package main

import (
	"context"
	"net"
	"net/http"
	"time"
)

// probe is one request that showed a token.
type probe struct {
	Sent   time.Time
	Status int // 0: no reply came
}

// revocation is what probes say about the revocation of a token.
type revocation struct {
	Before, RefusedBefore int           // answered before it was asked for
	After, Accepted       int           // sent later than a second after its answer
	Last                  time.Duration // from that answer to the last probe that was sent and accepted
}

// checkRevocation judges probes of a token whose revocation was asked for and
// answered at these moments. It is a pure function.
func checkRevocation(probes []probe, asked, answered time.Time) (v revocation) {
	for _, p := range probes {
		accepted := p.Status == http.StatusOK
		switch {
		case p.Sent.Before(asked):
			v.Before++
			// One that is under way while it is revoked may be refused.
			if !accepted && p.Sent.Before(asked.Add(-wireDelay/2)) {
				v.RefusedBefore++
			}
		case p.Sent.After(answered.Add(time.Second)):
			v.After++
			if p.Status != http.StatusUnauthorized && p.Status != http.StatusTooManyRequests { // refused, or not even looked at
				v.Accepted++
			}
		}
		if accepted {
			v.Last = max(v.Last, p.Sent.Sub(answered))
		}
	}
	return v
}

// prober shows a token every few milliseconds, from an address of its own; end
// stops it and waits.
type prober struct {
	stop   func()
	probes []probe // of its goroutine until end
}

func (c *client) probe(ctx context.Context, token string) *prober {
	p := &prober{}
	shown := newClientFrom(net.IPv4(127, 0, 0, 2), c.base)
	shown.token = token
	p.stop = inBackground(ctx, func(ctx context.Context) {
		defer shown.close()
		for pause(ctx, 10*time.Millisecond) {
			sent := time.Now()
			status, _, err := shown.call(context.WithoutCancel(ctx), http.MethodGet, "/tasks?limit=1", nil)
			if err != nil {
				status = 0
			}
			p.probes = append(p.probes, probe{Sent: sent, Status: status})
		}
	})
	return p
}

func (p *prober) end() []probe {
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
