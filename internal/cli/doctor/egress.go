package doctor

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/foliot/foliot/internal/outgoing"
	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/usage"
	"github.com/foliot/foliot/internal/webhook"
)

// Guard returns the egress guard of a server with these settings. openLoopback
// must be true if the server has no tokens.
func Guard(ctx context.Context, settings config.Config, openLoopback bool) (*webhook.Guard, error) {
	host, port, err := net.SplitHostPort(settings.Addr)
	if err != nil {
		return nil, err
	}
	own, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, usage.Errorf("--listen", "cannot resolve %s: %v", host, err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, err
	}
	var listening []netip.AddrPort
	for _, a := range own {
		listening = append(listening, netip.AddrPortFrom(a, uint16(number)))
	}
	parts := outgoing.NewOwnAddresses(slog.New(slog.DiscardHandler), listening, settings.CollectorAddr, settings.StoreAddrs)
	parts.Refresh(ctx, time.Now())
	return webhook.NewGuard(webhook.Config{
		Allow: settings.Allow, Deny: settings.Deny,
		AllowLoopback: func() bool { return openLoopback && settings.Private() },
		Own:           parts.Set.Load,
	}), nil
}
