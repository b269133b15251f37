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
	// close an idle connection. If a request is written while the receiver
	// closes the connection, the sender cannot know whether it was processed. A
	// handshake every few seconds is the smaller harm.
	idleTimeout = 4 * time.Second

	// These limits suffice for a burst to one destination at the default
	// concurrency. The dispatcher limits the connections in use.
	maxIdlePerHost = 1024
	maxIdle        = 4096

	tlsTimeout     = 10 * time.Second
	maxReplyHeader = 64 << 10 // of a reply, including its 1xx replies
)

// Sender makes attempts. Many goroutines may use it. It keeps connections
// between attempts. Their goroutines belong to net/http and end with the
// connections: idleTimeout and Close end the idle ones.
type Sender struct {
	secrets   func(namespace, queue string) [][]byte
	now       func() time.Time
	tracer    func(context.Context, task.Delivery) (context.Context, string, func(task.Outcome))
	transport *http.Transport
	dialer    *dialer
	close     context.CancelFunc
}

// New returns a Sender. The guard of cfg checks its requests.
func New(cfg Config) *Sender {
	closing, cancel := context.WithCancel(context.Background())
	dialer := newDialer(closing, NewGuard(cfg))

	// Only HTTP/1.1 is used. Each attempt has a connection of its own: to give
	// one up affects no other attempt, and it is known whether the request was
	// written. On a shared HTTP/2 connection, net/http repeats requests when
	// the server says that it may, and one stalled connection would delay all
	// attempts to its host.
	var protocols http.Protocols
	protocols.SetHTTP1(true)

	s := &Sender{
		secrets: cfg.Secrets,
		now:     cfg.Now,
		tracer:  cfg.Trace,
		dialer:  dialer,
		close:   cancel,
		transport: &http.Transport{
			Proxy:                  nil, // a proxy from the environment would bypass the guard
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

// tlsConfig returns the configuration of a handshake with the host of address.
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

// Close ends dials under way and closes idle connections. Attempts under way
// keep theirs: cancel their contexts first.
func (s *Sender) Close() {
	s.close()
	s.transport.CloseIdleConnections()
}
