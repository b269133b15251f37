package server

import (
	"context"
	"net"
	"net/netip"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/buildinfo"
	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/outgoing"
	"github.com/foliot/foliot/internal/page"
	"github.com/foliot/foliot/internal/server/httpserver"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/telemetry/tracing"
	"github.com/foliot/foliot/internal/wire"
)

// connect builds the parts on top of the store and connects them. To the Config
// of each part it adds the fields that no flag sets.
func (s *Server) connect(ctx context.Context) {
	send := s.cfg.Sender
	send.AllowLoopback, send.Trace = s.LoopbackOpen, s.tracer.Attempt
	own := []netip.AddrPort{s.listener.Addr().(*net.TCPAddr).AddrPort()}
	s.sender = outgoing.New(ctx, s.Node, send, own, s.cfg.Collector)

	c := s.cfg.API
	c.ClientAddr, c.Authenticated = httpserver.ClientAddr(s.cfg.Proxies), httpserver.Authenticated
	c.Observe, c.Metrics, c.Trace = s.answered, s.metrics.Handler(), tracing.Parent
	c.Engine, c.Now, c.Trusted = apiEngine{s.Node, s}, s.Node.Latest, s.Node.Trusted
	c.Version, c.Log = buildinfo.Version(), s.log
	c.Page = page.Handler()
	s.API = api.New(c, s.Node.Store)
	s.Node.Listen(s.listen)

	d := s.cfg.Dispatch
	d.OnScrub, d.OnSweep = s.metrics.Scrubbed, s.metrics.Swept
	s.Node.Connect(d, s.sender.Deliver, s.pendingEdits)
	s.metrics.Ask(s.sources())
}

// pendingEdits returns the refused tokens and the last uses of tokens since the
// previous call.
func (s *Server) pendingEdits() (edits []settings.Edit) {
	if refused := s.API.Refusals(); len(refused) > 0 {
		edits = append(edits, settings.Note(refused))
	}
	return append(edits, s.API.TokenUses()...)
}

// LoopbackOpen reports whether tasks are allowed to call loopback addresses.
// They are allowed only while every client that can create tasks could also
// call these addresses without Foliot.
func (s *Server) LoopbackOpen() bool {
	return s.cfg.Private() && !s.Node.Store.Standing().Settings.Secured()
}

// apiEngine is the node as the API of a server sees it: with the certificates
// and the sender.
type apiEngine struct {
	*engine.Node
	server *Server
}

// Examine implements api.Engine, and also examines the TLS files, if there are
// any.
func (e apiEngine) Examine() func(context.Context) []wire.Finding {
	inspect, certs := e.Inspect, e.server.certs
	if certs == nil {
		return inspect
	}
	return func(ctx context.Context) (all []wire.Finding) {
		if inspect != nil {
			all = inspect(ctx)
		}
		if _, broken := certs.State(); broken {
			all = append(all, wire.Finding{
				Check: "tls-files",
				Says:  "the TLS files have changed and cannot be used: the previous certificate stays in use; the log names the file and the reason",
			})
		}
		return all
	}
}

// Egress implements api.Engine.
func (e apiEngine) Egress() func(ctx context.Context, url string) wire.Egress {
	return e.server.sender.Explain
}
