package idle

import (
	"errors"
	"math"
	"time"
)

var (
	// ErrClosed is returned by Track, and by Accept of a NewListener, if the
	// group is closed or draining. It is permanent: neither state ends.
	ErrClosed = errors.New("idle: the group is closed or draining: it tracks no more connections")

	// ErrTracked is returned by Track if the Entry is tracked already, by this
	// or another group. An Entry belongs to one connection, so embed one in
	// each.
	ErrTracked = errors.New("idle: the entry is tracked already: each connection needs one of its own")

	// ErrFull is returned by Track if the group tracks 2^28 connections.
	ErrFull = errors.New("idle: 2^28 connections are tracked: use a second group")
)

// Never is a timeout that is off. New panics for a Config without a timeout
// unless one of them is Never. A group without any timeout calls the callback
// only after EvictIdlest and Drain.
const Never time.Duration = -1

// Config sets when a Group calls the callback for a connection. At least one of
// ReadIdle, WriteIdle, AllIdle, MaxAge, Handshake and PingEvery must not be
// zero. In all other fields zero means the default, and values out of range are
// replaced, as each field says.
type Config struct {
	// ReadIdle is the longest time without a TouchRead. Zero or less means no
	// limit.
	ReadIdle time.Duration

	// WriteIdle is the longest time without a TouchWrite. Zero or less means no
	// limit.
	WriteIdle time.Duration

	// AllIdle is the longest time without a TouchRead and a TouchWrite. Zero or
	// less means no limit.
	AllIdle time.Duration

	// MaxAge is the time after Track at which the callback is called even if
	// the connection is in use. It is shorter by up to Jitter, so that
	// connections that came together do not end together. Zero or less means no
	// limit.
	MaxAge time.Duration

	// Handshake is the time after Track within which the first TouchRead must
	// come. Zero or less means no limit.
	Handshake time.Duration

	// PingEvery is the time without TouchRead and Pong after which the group
	// asks for a ping. It is shorter by up to Jitter, and writes do not delay
	// the ping. Zero or less means no pings.
	PingEvery time.Duration

	// PongWait is the time after a ping within which a TouchRead or Pong must
	// come, or else the ping is missed. Zero or less means PingEvery.
	PongWait time.Duration

	// MaxMissed is the number of consecutive missed pings after which the
	// reason is PongTimeout. Before that, the group asks for the next ping at
	// once. Zero or less means 1, and more than 255 means 255.
	MaxMissed int

	// Jitter is the fraction of PingEvery and MaxAge by which they may be
	// shorter, chosen at random for each ping and connection. Zero and NaN
	// mean 0.1, less than zero means none, and more than 1 means 1.
	Jitter float64

	// Resolution is the accuracy of all timeouts: the callback is never called
	// early, and at most two resolutions late. A group with connections wakes
	// up twice in each resolution. A process that wakes up more than a
	// resolution late has stalled, and every connection gets a new timeout. On
	// a machine that stalls often, which Stats.Stalls shows, choose a coarser
	// resolution.
	//
	// Zero or less means the smallest timeout / 64, but at least 100 ms and at
	// most 1 s; the resolution is never finer than 1 ms or the longest timeout
	// / 2^28.
	Resolution time.Duration

	// MaxPerTick is the highest number of connections for which the callback is
	// called in one resolution, while further connections wait for the next.
	// Zero or less means no limit.
	MaxPerTick int

	// Workers is the highest number of goroutines that call the callback and
	// close connections, and exist only while there is work. A call that
	// blocks, such as a ping that meets a full socket, occupies one of them, so
	// leave writes to the goroutine that writes for the connection. Zero or
	// less means 4.
	Workers int

	// Activity is the source from which the group learns when a connection was
	// used: Touch or Kernel. Zero means Touch.
	Activity Source
}

// Source is the way in which a Group learns when a connection was used.
type Source uint8

const (
	// Touch is the default: the program calls TouchRead and TouchWrite.
	Touch Source = iota

	// Kernel makes the group read from the operating system when bytes last
	// came and went, each time a timeout may have passed. One such reading
	// takes less than a microsecond, and needs TCP on Linux without Multipath
	// TCP. Touches and pongs count as well.
	Kernel
)

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
	// A container at its limit of processor time is stopped for up to 100 ms in
	// each period of 100 ms, which would be a stall with a finer default.
	finestResolution   = 100 * time.Millisecond
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
	if c.Jitter == 0 || math.IsNaN(c.Jitter) {
		l.jitter = 0.1
	}
	if l.workers <= 0 {
		l.workers = 4
	}
	l.maxPerTick = max(c.MaxPerTick, 0)
	l.step = l.resolution(c.Resolution) / 2
	return l
}

// resolution returns the wanted resolution, or the default for 0, or a coarser
// one if the longest timeout requires that.
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
