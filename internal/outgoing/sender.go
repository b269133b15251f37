package outgoing

import (
	"context"
	"net/netip"
	"time"

	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/webhook"
)

// Sender makes the attempts of the tasks of a node that have a URL. Call Run in
// a goroutine while it is in use, and Close at the end.
type Sender struct {
	*webhook.Sender
	own *ownAddresses
}

// New returns the sender of a node. The signing secrets, the clock and the own
// addresses of cfg are set by New. fixed and sources are the addresses that
// tasks must not reach, besides those of the store and of the other nodes; see
// newOwnAddresses. New resolves the names of sources, until ctx ends.
func New(ctx context.Context, n *engine.Node, cfg webhook.Config, fixed []netip.AddrPort, sources ...func() []string) *Sender {
	if shared, ok := n.Store.(interface{ Endpoints() []string }); ok {
		sources = append(sources, shared.Endpoints)
	}
	own := newOwnAddresses(n.Log(), fixed, sources...)
	own.refresh(ctx, time.Now())
	cfg.Own, cfg.Now = own.set.Load, n.Now
	cfg.Secrets = func(namespace, queue string) []string { return signingSecrets(n, namespace, queue) }
	return &Sender{webhook.New(cfg), own}
}

// Run updates the own addresses until ctx ends.
func (s *Sender) Run(ctx context.Context) { s.own.run(ctx) }

// signingSecrets returns the secrets that sign the callbacks of a queue now, the
// newest first. It is called for each attempt, and reads the settings each time,
// so a new secret is used at once, and an ended one no longer.
func signingSecrets(n *engine.Node, namespace, queue string) []string {
	live := n.Store.Standing().Settings.Secrets(namespace, queue, task.FloorMillis(n.Now()))
	secrets := make([]string, len(live))
	for i, secret := range live {
		secrets[i] = secret.Secret
	}
	return secrets
}
