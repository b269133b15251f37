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

// The bounds of a connection that stays silent or dawdles.
const (
	HeaderTimeout = 10 * time.Second
	BodyTimeout   = 60 * time.Second
	replyTimeout  = BodyTimeout + 60*time.Second // both count from the headers
	IdleTimeout   = 2 * time.Minute
	DrainTimeout  = 5 * time.Second // for replies under way when a server stops

	// unsentTimeout is how long a client may take nothing that it was sent over
	// HTTP/2, such as the end of a stream; a reply has a deadline of its own.
	unsentTimeout = 30 * time.Second
	// maxStreams bounds the requests under way on one connection.
	maxStreams = 32
)

// ListenAddr completes an address: "9000" and ":9000" are on loopback.
func ListenAddr(flag, addr string) (string, error) {
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

// ListenError says why an address cannot be listened on.
func ListenError(flag, addr string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s: %s is in use by another process; stop that one, or choose another port", flag, addr)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s: %s may not be used by this user; choose a port above 1023", flag, addr)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s: %s is no address of this machine", flag, addr)
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

// ServeUntil serves l until ctx ends, then lets the replies under way end.
func ServeUntil(ctx context.Context, srv *http.Server, l net.Listener) error {
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), DrainTimeout)
	defer cancel()
	err := srv.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		err = srv.Close() // they had their time
	}
	return errors.Join(err, Served(<-failed))
}

// Served is what a server that was shut down has to say: nothing, mostly.
func Served(err error) error {
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
		ReadHeaderTimeout: HeaderTimeout,
		ReadTimeout:       BodyTimeout,
		WriteTimeout:      replyTimeout,
		IdleTimeout:       -1, // package idle sees to that
		MaxHeaderBytes:    maxHeader,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams, WriteByteTimeout: unsentTimeout},
		// The API looks at the Host of every request, of OPTIONS * too.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(complaints{log.Handler()}, slog.LevelWarn),
	}
}

// Config says how clients are served.
type Config struct {
	Certs          *Certificates // nil: no TLS
	MaxConnections int           // connections; for further ones the idlest go
	Idle           time.Duration // how long one may be without a request
	Proxies        []netip.Prefix
	Trace          func(http.Handler) http.Handler
	Log            *slog.Logger
}

// Server answers clients on a listener, and keeps them in bounds.
type Server struct {
	HTTP     *http.Server
	conns    *connections
	listener net.Listener
	secure   bool
}

// New puts a handler behind a server that keeps its clients in bounds.
// It answers from serve on.
func New(l net.Listener, handler http.Handler, cfg Config) *Server {
	s := &Server{HTTP: newServer(cfg.Log), listener: l, secure: cfg.Certs != nil}
	idleness := cfg.Idle
	if s.secure {
		s.HTTP.TLSConfig = cfg.Certs.config()
		// HTTP/2 says goodbye when its connection was idle for long enough, and
		// only the server itself can do that. So package idle comes after it.
		s.HTTP.IdleTimeout = idleness
		idleness += HeaderTimeout
	}
	s.conns = watchConnections(s.HTTP, cfg.MaxConnections, idleness)
	s.conns.exempt = func(addr netip.Addr) bool { return within(cfg.Proxies, addr) }
	// The log stands next to the API: spans hand on a copy of the request, and
	// the API tells the request that it gets by which route it went.
	access := accessLog{cfg.Log, ClientAddr(cfg.Proxies)}
	s.HTTP.Handler = cfg.Trace(access.handler(s.conns.saysGoodbye(handler)))
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

// Connections returns how many are open.
func (s *Server) Connections() int { return s.conns.group.Stats().Len }

// Leave makes every reply its connection's last, from now on.
func (s *Server) Leave() { s.conns.leave() }

// Shutdown ends the server. What is being answered may end; over HTTP/2 a GOAWAY
// says that no more will be. ended receives what serve returned.
func (s *Server) Shutdown(ended <-chan error) error {
	drain, cancel := context.WithTimeout(context.Background(), DrainTimeout)
	defer cancel()
	err := s.HTTP.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.HTTP.Close() // they had their time
	}
	err = errors.Join(err, Served(<-ended))
	s.conns.close()
	return err
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
