package httpserver

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

// Bounds on a connection that is silent or slow.
const (
	HeaderTimeout = 10 * time.Second
	BodyTimeout   = 60 * time.Second
	replyTimeout  = BodyTimeout + 60*time.Second // from the end of the request's headers
	IdleTimeout   = 2 * time.Minute
	// proxyIdleTimeout is longer than the ten minutes of Google's balancers, so
	// that the proxy closes an idle connection first. Otherwise it could send a
	// request on a connection that the server has just closed.
	proxyIdleTimeout = 11 * time.Minute
	DrainTimeout     = 5 * time.Second // for replies under way when a server stops

	// unsentTimeout is how long data for an HTTP/2 client can stay unsent before
	// the connection is closed. Each reply also has replyTimeout.
	unsentTimeout = 30 * time.Second
	// maxStreams bounds the requests under way on one connection.
	maxStreams = 32
)

// ListenAddr completes an address to listen on. If the host is missing, as in
// "9000" or ":9000", it is 127.0.0.1.
func ListenAddr(flag, addr string) (string, error) {
	if _, err := strconv.ParseUint(addr, 10, 16); err == nil {
		addr = ":" + addr
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", usage.Errorf(flag, "invalid address %q: use host:port, for example 127.0.0.1:8750", addr)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", usage.Errorf(flag, "invalid port in %q: use a number from 0 to 65535", addr)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// ReachableAddr returns the address that a client on this machine uses for addr.
func ReachableAddr(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return addr.String()
	}
	return net.JoinHostPort("127.0.0.1", fmt.Sprint(tcp.Port))
}

// ListenError explains why the server cannot listen on an address.
func ListenError(flag, addr string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s: %s is in use by another process; stop that process or choose another port", flag, addr)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s: this user may not listen on %s; choose a port above 1023", flag, addr)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s: %s is not an address of this machine", flag, addr)
	}
	return fmt.Errorf("%s: listen on %s: %w", flag, addr, withoutOp(err))
}

// withoutOp removes net's prefix "listen tcp addr:" from an error.
func withoutOp(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	return err
}

// ServeUntil serves l until ctx ends, then waits up to DrainTimeout for the
// replies under way.
func ServeUntil(ctx context.Context, srv *http.Server, l net.Listener) error {
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	return shutdown(srv, failed)
}

// shutdown waits up to DrainTimeout for the requests under way, and ends srv. ended
// receives the result of Serve.
func shutdown(srv *http.Server, ended <-chan error) error {
	drain, cancel := context.WithTimeout(context.Background(), DrainTimeout)
	defer cancel()
	err := srv.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		err = srv.Close() // DrainTimeout is over, so the remaining replies are cut off
	}
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// maxHeader bounds the bytes of a request's headers.
const maxHeader = 64 << 10

// newServer returns an HTTP server with a timeout for each wait for a client.
func newServer(log *slog.Logger) *http.Server {
	return &http.Server{
		ReadHeaderTimeout: HeaderTimeout,
		ReadTimeout:       BodyTimeout,
		WriteTimeout:      replyTimeout,
		IdleTimeout:       -1, // package idle closes idle connections
		MaxHeaderBytes:    maxHeader,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams, WriteByteTimeout: unsentTimeout},
		// The API checks the Host of every request, including OPTIONS *.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(errorLog{log.Handler()}, slog.LevelWarn),
	}
}

// Config holds the settings of a Server.
type Config struct {
	Certs          *Certificates // nil means no TLS
	MaxConnections int           // beyond it, the server closes idle connections to make room
	Proxies        []netip.Prefix
	Trace          func(http.Handler) http.Handler
	Log            *slog.Logger
}

// Server answers clients on a listener, and bounds their connections.
type Server struct {
	HTTP     *http.Server
	conns    *connections
	listener net.Listener
	secure   bool
}

// New returns a server for handler, which answers no request before Serve is
// called.
func New(l net.Listener, handler http.Handler, cfg Config) *Server {
	s := &Server{HTTP: newServer(cfg.Log), listener: l, secure: cfg.Certs != nil}
	idleness := IdleTimeout
	if len(cfg.Proxies) > 0 {
		idleness = proxyIdleTimeout
	}
	if s.secure {
		s.HTTP.TLSConfig = cfg.Certs.config()
		// An idle HTTP/2 connection should end with a GOAWAY, which only net/http
		// can send, so package idle acts later.
		s.HTTP.IdleTimeout = idleness
		idleness += HeaderTimeout
	}
	s.conns = watchConnections(s.HTTP, cfg.MaxConnections, idleness)
	s.conns.exempt = func(addr netip.Addr) bool { return within(cfg.Proxies, addr) }
	s.HTTP.Handler = cfg.Trace(s.conns.markLastReplies(handler))
	return s
}

// Serve answers clients until the listener is closed.
func (s *Server) Serve() error {
	l := s.conns.listen(s.listener)
	if s.secure {
		return s.HTTP.ServeTLS(l, "", "")
	}
	return s.HTTP.Serve(l)
}

// Connections returns the number of open connections.
func (s *Server) Connections() int { return s.conns.group.Stats().Len }

// Leave makes each reply from now on the last one of its connection.
func (s *Server) Leave() { s.conns.leave() }

// Shutdown announces the end with a GOAWAY in HTTP/2, waits up to DrainTimeout for
// the requests under way, and ends the server. ended receives the result of Serve.
func (s *Server) Shutdown(ended <-chan error) error {
	defer s.conns.close()
	return shutdown(s.HTTP, ended)
}

// errorLog receives the messages of net/http about clients. Failed handshakes are
// logged at level Debug, because port scanners cause many of them.
type errorLog struct{ slog.Handler }

func (c errorLog) Handle(ctx context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "http: TLS handshake error") {
		r.Level = slog.LevelDebug
		if !c.Enabled(ctx, r.Level) {
			return nil
		}
	}
	return c.Handler.Handle(ctx, r)
}
