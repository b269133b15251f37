package webhook

import "net/netip"

// Config describes a Sender and its Guard. The zero Config sends to the public
// internet alone.
type Config struct {
	// Allow opens prefixes that are closed otherwise: private networks, and
	// loopback when AllowLoopback is false. Metadata addresses and Own stay closed.
	Allow []netip.Prefix

	// AllowLoopback opens 127.0.0.0/8 and ::1. Right while whoever may create
	// tasks also has a shell on the machine: that is, until a token exists.
	AllowLoopback bool

	// Own are the addresses of this server's API and of its store, closed
	// always: a task that could call the API would act with the server's place
	// in the network. An unspecified address (0.0.0.0, ::) stands for all
	// addresses of this machine.
	Own []netip.AddrPort

	// MaxIdle is how many connections are kept open between attempts, each a
	// descriptor. Default: 4096.
	MaxIdle int
}
