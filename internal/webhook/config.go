package webhook

import (
	"context"
	"net/netip"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Config describes a Sender and its Guard. The zero Config sends to the public
// internet alone, unsigned.
type Config struct {
	// Allow opens prefixes that are closed otherwise: private networks, and
	// loopback while AllowLoopback does not. Metadata addresses and Own stay closed.
	Allow []netip.Prefix

	// Deny closes prefixes that are open otherwise, also those that Allow or
	// AllowLoopback opens, and also where an IPv6 address carries an IPv4
	// address of such a prefix.
	Deny []netip.Prefix

	// AllowLoopback opens this machine's own addresses while it returns true:
	// 127.0.0.0/8, ::1 and those of its interfaces. That is right as long as
	// every client that may create tasks also has a shell on the machine: until a token
	// exists. It is called for each connection and each attempt, by many
	// goroutines, and must not block. Default: closed.
	AllowLoopback func() bool

	// Own returns the addresses that are closed always: of this server's API and
	// of the other nodes', of the store, of the collector of traces. A task that
	// reached one would act with the server's place in the network. It is called
	// for each connection and each attempt, by many goroutines, and must not
	// block. Default: none.
	Own func() *Own

	// MaxIdle is how many connections are kept open between attempts, each a
	// descriptor. Default: 4096.
	MaxIdle int

	// Secrets returns the keys that sign a queue's callbacks, newest first.
	// Each makes a signature, so that during a rotation receivers with the old
	// key and receivers with the new one both accept. None: unsigned. It is
	// called for each attempt, by many goroutines, and must not block; what it
	// returns is not written to. Default: none.
	Secrets func(namespace, queue string) [][]byte

	// Now reads the wall clock by which tasks are due: when an attempt began, and
	// how late, is said by it. It is asked for each attempt, by many goroutines, and
	// must not block. Default: time.Now.
	Now func() time.Time

	// Trace is called for each attempt before anything is sent. The request
	// runs under the context that it returns and carries the traceparent that
	// it returns, if that is not ""; end is called once, with how the attempt
	// ended. A traceparent among the task's own headers goes before either.
	// Default: the trace that the task was created in, or else one of its own.
	Trace func(ctx context.Context, d task.Delivery) (_ context.Context, traceparent string, end func(task.Outcome))
}
