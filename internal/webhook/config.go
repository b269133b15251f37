package webhook

import (
	"context"
	"crypto/x509"
	"net/netip"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Config holds the settings of a Sender and its Guard. The zero Config sends
// unsigned requests, to the public internet only. Many goroutines call its
// functions, for each attempt and mostly for each connection, so they must not
// block.
type Config struct {
	// Allow opens prefixes that are closed by default: private networks, and
	// loopback even if AllowLoopback returns false. Metadata addresses and Own
	// stay closed.
	Allow []netip.Prefix

	// Deny closes prefixes, even if Allow or AllowLoopback opens them, and IPv6
	// addresses that carry an IPv4 address of such a prefix.
	Deny []netip.Prefix

	// Opener names the way to add to Allow in error messages. Default: allowFlag.
	Opener string

	// Authorities sign the certificates of receivers. Default: those of the
	// system.
	Authorities *x509.CertPool

	// AllowLoopback opens this machine's own addresses while it returns true:
	// 127.0.0.0/8, ::1 and those of its interfaces. This is right only as long
	// as every client that can create tasks also has a shell on the machine:
	// until a token exists. Default: closed.
	AllowLoopback func() bool

	// Own returns addresses that are always closed: those of this server's API,
	// of the other nodes' APIs, of the store and of the trace collector. A task
	// that reached one would act from the server's place in the network. Default:
	// none.
	Own func() *Own

	// MaxIdle is how many connections are kept open between attempts, where
	// each uses a descriptor. Default: 4096.
	MaxIdle int

	// Secrets returns the secrets that sign a queue's callbacks, newest first.
	// Each makes a signature, so during a rotation, receivers with the old
	// secret and receivers with the new one both accept the callback. Without
	// secrets, callbacks are unsigned. The result is not modified. Default: no
	// secrets.
	Secrets func(namespace, queue string) []string

	// Now reads the wall clock that decides when tasks are due, for the start
	// and the lateness of attempts. Default: time.Now.
	Now func() time.Time

	// Trace is called for each attempt before anything is sent. The request
	// uses the returned context, and the returned traceparent if it is not "",
	// and end is called once with the outcome. A traceparent among the task's
	// own headers takes precedence. Default: the trace in which the task was
	// created, or else a trace of the task's own.
	Trace func(ctx context.Context, d task.Delivery) (_ context.Context, traceparent string, end func(task.Outcome))
}
