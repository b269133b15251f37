package idle

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrClosed is returned by Track if the group is closed or draining.
	ErrClosed = errors.New("idle: the group is closed or draining: it tracks no more connections")

	// ErrTracked is returned by Track if the Entry is tracked already, by this
	// or another group. An Entry belongs to one connection: embed one in each.
	ErrTracked = errors.New("idle: the entry is tracked already: each connection needs one of its own")

	// ErrFull is returned by Track if the group tracks 2^28 connections.
	ErrFull = errors.New("idle: 2^28 connections are tracked: use a second group")
)

// Never is a timeout that is off. New refuses a Config without a timeout unless
// one of them is Never. Such a group calls `on` only after EvictIdlest and
// Drain.
const Never time.Duration = -1

// Config sets when a Group calls `on` for a connection. A timeout of zero or
// less is off. At least one must be set: ReadIdle, WriteIdle, AllIdle, MaxAge,
// Handshake or PingEvery.
type Config struct {
	ReadIdle  time.Duration // without a TouchRead
	WriteIdle time.Duration // without a TouchWrite
	AllIdle   time.Duration // without either

	// MaxAge is the time after Track at which `on` is called even if the
	// connection is busy. It is shorter by up to Jitter, so that connections
	// that came together do not end together.
	MaxAge time.Duration

	// Handshake is the time after Track within which the first TouchRead must
	// come.
	Handshake time.Duration

	// PingEvery is the time without TouchRead and Pong after which the group
	// asks for a ping. It is shorter by up to Jitter. Writes do not delay the
	// ping.
	PingEvery time.Duration

	// PongWait is the time after a ping within which a TouchRead or Pong must
	// come. Otherwise the ping is missed. Default: PingEvery.
	PongWait time.Duration

	// MaxMissed is the number of consecutive missed pings after which the
	// reason is PongTimeout. Before that, the group asks for the next ping at
	// once. Default 1, at most 255.
	MaxMissed int

	// Jitter is the fraction of PingEvery and MaxAge by which they may be
	// shorter, chosen at random for each ping and connection. Default 0.1, at
	// most 1; negative: none.
	Jitter float64

	// Resolution is the accuracy of all timeouts: `on` is never called early,
	// and at most two resolutions late. A group with connections wakes up twice
	// in each resolution. A process that wakes up later than that has stalled,
	// and every connection gets a new timeout. On a machine that stalls often,
	// choose a coarser resolution. Default: the smallest timeout / 64, between
	// 10 ms and 1 s; at least 1 ms, and at least the longest timeout / 2^28.
	Resolution time.Duration

	// MaxPerTick is the highest number of connections for which `on` is called
	// in one resolution. The others wait for the next. 0: no limit.
	MaxPerTick int

	// Workers is the highest number of goroutines that call `on` and close
	// connections. They exist only while there is work. A call that blocks
	// occupies one of them: for example, a ping that meets a full socket. Leave
	// writes to the goroutine that writes for the connection. Default 4.
	Workers int

	// Activity is the source from which the group learns when a connection was
	// used: Touch (default) or Kernel.
	Activity Source
}

// Source is the way in which a Group learns when a connection was used.
type Source uint8

const (
	// Touch is the default: the program calls TouchRead and TouchWrite.
	Touch Source = iota

	// Kernel makes the group read from the operating system when bytes last
	// came and went, each time a timeout may have passed. One such reading
	// takes less than a microsecond. It needs TCP on Linux without Multipath
	// TCP. Touches and pongs count as well.
	Kernel
)

// String returns "touch" or "kernel".
func (s Source) String() string {
	switch s {
	case Touch:
		return "touch"
	case Kernel:
		return "kernel"
	}
	return fmt.Sprintf("Source(%d)", uint8(s))
}

// timed reports whether a timeout is set, or one is Never.
func (c Config) timed() bool {
	return c.ReadIdle != 0 || c.WriteIdle != 0 || c.AllIdle != 0 || c.MaxAge != 0 || c.Handshake != 0 || c.PingEvery != 0
}

// limits is a Config with its defaults, before jitter and pressure.
type limits struct {
	read, write, all, age, handshake, ping, pong time.Duration

	maxMissed  uint8
	jitter     float64
	step       time.Duration // half a resolution
	maxPerTick int
	workers    int
}

const (
	finestResolution   = 10 * time.Millisecond // of the defaults
	coarsestResolution = time.Second
	longestSteps       = 1 << 29 // longest timeout in steps: they are compared in 32 bits
)

func (c Config) limits() limits {
	l := limits{
		read: max(c.ReadIdle, 0), write: max(c.WriteIdle, 0), all: max(c.AllIdle, 0),
		age: max(c.MaxAge, 0), handshake: max(c.Handshake, 0), ping: max(c.PingEvery, 0),
		maxMissed: uint8(min(max(c.MaxMissed, 1), 255)),
		jitter:    min(max(c.Jitter, 0), 1),
		workers:   c.Workers,
	}
	if l.ping > 0 {
		l.pong = c.PongWait
		if l.pong <= 0 {
			l.pong = l.ping
		}
	}
	if c.Jitter == 0 {
		l.jitter = 0.1
	}
	if l.workers <= 0 {
		l.workers = 4
	}
	l.maxPerTick = max(c.MaxPerTick, 0)
	l.step = l.resolution(c.Resolution) / 2
	return l
}

// resolution returns the wanted resolution, or the default for 0. The result is
// coarser if the longest timeout requires that.
func (l *limits) resolution(wish time.Duration) time.Duration {
	smallest, longest := coarsestResolution*64, time.Duration(0)
	for _, d := range []time.Duration{l.read, l.write, l.all, l.age, l.handshake, l.ping, l.pong} {
		if d > 0 {
			smallest, longest = min(smallest, d), max(longest, d)
		}
	}
	if wish <= 0 {
		wish = max(smallest/64, finestResolution)
	}
	return max(wish, time.Millisecond, 2*(longest/longestSteps+1))
}
