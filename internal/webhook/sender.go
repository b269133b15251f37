package webhook

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"time"
)

const (
	// idleTimeout is shorter than the 5 s after which Node, Apache and uvicorn
	// close an idle connection. If a request is written while the receiver
	// closes the connection, the sender cannot know whether it was processed. A
	// handshake every few seconds is the smaller harm.
	idleTimeout = 4 * time.Second

	// maxIdle suffices for bursts at the default concurrency, while the
	// dispatcher limits the connections in use.
	maxIdle = 4096

	tlsTimeout     = 10 * time.Second
	maxReplyHeader = 64 << 10 // of a reply, including its 1xx replies
)

// Sender makes attempts, for many goroutines at once. It keeps connections
// between attempts, until idleTimeout or Close ends the idle ones.
//
// Only HTTP/1.1 is used. Each attempt has a connection of its own, so to give one
// up affects no other attempt, and it is known whether the request was written. A
// shared HTTP/2 connection that stalls would delay all attempts to its host. A
// proxy of the environment is not used, because it would bypass the guard.
type Sender struct {
	cfg     Config
	dialer  *dialer
	tls     *tls.Config // of the handshakes; each adds the name of its server
	pool    *pool
	closing context.Context // ends when the Sender is closed, and ends all dials
	close   context.CancelFunc
}

// New returns a Sender with requests that the guard of cfg checks.
func New(cfg Config) *Sender {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	closing, cancel := context.WithCancel(context.Background())
	return &Sender{
		cfg:     cfg,
		dialer:  &dialer{Dialer: net.Dialer{Timeout: connectTimeout, KeepAlive: keepAlive}, guard: NewGuard(cfg)},
		tls:     &tls.Config{RootCAs: cfg.Authorities, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}},
		pool:    newPool(cmp.Or(cfg.MaxIdle, maxIdle)),
		closing: closing,
		close:   cancel,
	}
}

// Close ends dials under way and closes idle connections, but attempts under way
// keep theirs: cancel their contexts first.
func (s *Sender) Close() {
	s.close()
	s.pool.close()
}
