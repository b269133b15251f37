package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/foliot/foliot/internal/usage"
)

// The bounds of a connection that stays silent or dawdles.
const (
	headerTimeout = 10 * time.Second
	bodyTimeout   = 60 * time.Second
	replyTimeout  = bodyTimeout + 60*time.Second // both count from the headers
	idleTimeout   = 2 * time.Minute
	drainTimeout  = 5 * time.Second // for replies under way when a server stops

	// unsentTimeout is how long a client may take nothing that it was sent over
	// HTTP/2, such as the end of a stream; a reply has a deadline of its own.
	unsentTimeout = 30 * time.Second
	// maxStreams bounds the requests under way on one connection.
	maxStreams = 32
)

// listenAddr completes an address: "9000" and ":9000" are on loopback.
func listenAddr(flag, addr string) (string, error) {
	if _, err := strconv.ParseUint(addr, 10, 16); err == nil {
		addr = ":" + addr
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", usage.Errorf(flag, "%q is no host:port, such as 127.0.0.1:8750", addr)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", usage.Errorf(flag, "%q has no port between 0 and 65535", addr)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// listenError says why an address cannot be listened on.
func listenError(flag, addr string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return &fault{exitFailure, fmt.Errorf("%s: %s is in use by another process; stop that one, or choose another port", flag, addr)}
	case errors.Is(err, syscall.EACCES):
		return &fault{exitFailure, fmt.Errorf("%s: %s may not be used by this user; choose a port above 1023", flag, addr)}
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return &fault{exitFailure, fmt.Errorf("%s: %s is no address of this machine", flag, addr)}
	}
	return fmt.Errorf("%s: listen on %s: %w", flag, addr, withoutOp(err))
}

// withoutOp drops net's own "listen tcp addr:" from an error.
func withoutOp(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// serveUntil serves l until ctx ends, then lets the replies under way end.
func serveUntil(ctx context.Context, srv *http.Server, l net.Listener) error {
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	err := srv.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		err = srv.Close() // they had their time
	}
	return errors.Join(err, served(<-failed))
}

// served is what a server that was shut down has to say: nothing, mostly.
func served(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// maxHeader bounds a request's headers.
const maxHeader = 64 << 10

// newServer returns an HTTP server that waits for nobody for ever.
func newServer(log *slog.Logger) *http.Server {
	return &http.Server{
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout,
		WriteTimeout:      replyTimeout,
		IdleTimeout:       -1, // package idle sees to that
		MaxHeaderBytes:    maxHeader,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams, WriteByteTimeout: unsentTimeout},
		// The API looks at the Host of every request, of OPTIONS * too.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(complaints{log.Handler()}, slog.LevelWarn),
	}
}

// openHTTP puts the API behind a server that keeps its clients in bounds.
func (n *node) openHTTP() {
	n.http = newServer(n.log)
	idleness := n.cfg.idle
	if n.certs != nil {
		n.http.TLSConfig = n.certs.config()
		// HTTP/2 says goodbye when its connection was idle for long enough, and
		// only the server itself can do that. So package idle comes after it.
		n.http.IdleTimeout = idleness
		idleness += headerTimeout
	}
	n.conns = watchConnections(n.http, n.files.clients, idleness)
	n.conns.exempt = func(addr netip.Addr) bool { return within(n.cfg.proxies, addr) }
	// The log stands next to the API: spans hand on a copy of the request, and
	// the API tells the request that it gets by which route it went.
	access := accessLog{n.log, clientAddr(n.cfg.proxies)}
	n.http.Handler = n.tracer.Handler(access.handler(n.conns.saysGoodbye(n.api)))
}

// serve answers clients until the listener is closed.
func (n *node) serve() error {
	l := n.conns.listen(n.listener)
	if n.certs != nil {
		return n.http.ServeTLS(l, "", "")
	}
	return n.http.Serve(l)
}

// complaints is where net/http tells of clients. A handshake that failed is a
// scanner's or a stranger's doing, and no warning.
type complaints struct{ slog.Handler }

// Handle implements slog.Handler.
func (c complaints) Handle(ctx context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "http: TLS handshake error") {
		r.Level = slog.LevelDebug
		if !c.Enabled(ctx, r.Level) {
			return nil
		}
	}
	return c.Handler.Handle(ctx, r)
}
