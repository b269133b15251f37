package webhook

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"github.com/foliot/foliot/internal/task"
)

const (
	// idleTimeout is shorter than the 5 s after which Node, Apache and uvicorn
	// close an idle connection. A request written onto a connection that is
	// being closed is lost in a way that cannot be told from a request that was
	// carried out; a handshake every few seconds is the smaller harm.
	idleTimeout = 4 * time.Second

	// As many connections stay open as one burst to one destination uses at the
	// default concurrency; how many are used at once is the dispatcher's matter.
	maxIdlePerHost = 1024
	maxIdle        = 4096

	tlsTimeout     = 10 * time.Second
	maxReplyHeader = 64 << 10 // of a reply, its 1xx forerunners included
)

// Sender makes attempts. It may be used by many goroutines, and keeps
// connections between attempts; their goroutines belong to net/http and end
// with the connections, at the latest by Close and idleTimeout.
type Sender struct {
	secrets   func(namespace, queue string) [][]byte
	now       func() time.Time
	tracer    func(context.Context, task.Delivery) (context.Context, string, func(task.Outcome))
	transport *http.Transport
	dialer    *dialer
	close     context.CancelFunc
}

// New returns a Sender whose requests pass the guard that cfg describes.
func New(cfg Config) *Sender {
	closing, cancel := context.WithCancel(context.Background())
	dialer := newDialer(closing, NewGuard(cfg))

	// HTTP/1.1 alone: an attempt has its connection for itself, so giving one
	// up cannot touch another, and whether a request was written is known. On a
	// shared HTTP/2 connection net/http repeats requests by the server's word,
	// and one stalled connection would hold up every attempt to its host.
	var protocols http.Protocols
	protocols.SetHTTP1(true)

	s := &Sender{
		secrets: cfg.Secrets,
		now:     cfg.Now,
		tracer:  cfg.Trace,
		dialer:  dialer,
		close:   cancel,
		transport: &http.Transport{
			Proxy:                  nil, // the environment's proxy would decide where requests go, behind the guard's back
			DialContext:            dialer.dialPlain,
			Protocols:              &protocols,
			DisableCompression:     true,
			MaxIdleConns:           cmp.Or(cfg.MaxIdle, maxIdle),
			MaxIdleConnsPerHost:    maxIdlePerHost,
			IdleConnTimeout:        idleTimeout,
			MaxResponseHeaderBytes: maxReplyHeader,
		},
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.transport.DialTLSContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		address, err := addressIn(ctx)
		if err != nil {
			return nil, err
		}
		return dialer.dialTLS(ctx, network, address, s.tlsConfig(address))
	}
	return s
}

// tlsConfig returns what a handshake with the host of address is to be like.
func (s *Sender) tlsConfig(address string) *tls.Config {
	config := s.transport.TLSClientConfig.Clone()
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if host, _, err := net.SplitHostPort(address); err == nil && config.ServerName == "" {
		config.ServerName = host
	}
	config.NextProtos = []string{"http/1.1"}
	return config
}

// Close ends dials that are under way and closes idle connections. Attempts
// that are under way keep theirs: end them first, by their context.
func (s *Sender) Close() {
	s.close()
	s.transport.CloseIdleConnections()
}
