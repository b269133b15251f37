package idle

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrClosed says that a connection was not tracked because the group is closed, or draining.
	ErrClosed = errors.New("idle: the group is closed or draining: it tracks no more connections")

	// ErrTracked says that a connection was not tracked because its Entry is tracked already, here or by another group. An
	// Entry belongs to one connection: embed one in each.
	ErrTracked = errors.New("idle: the entry is tracked already: each connection needs one of its own")

	// ErrFull says that a connection was not tracked because 2^28 are.
	ErrFull = errors.New("idle: 2^28 connections are tracked: use a second group")
)

// Never is a timeout that is off. New takes no Config without a timeout, unless one of them is Never: such a group asks about a
// connection only after EvictIdlest and Drain.
const Never time.Duration = -1

// Config says when a Group asks about a connection. A timeout of zero or less is off. At least one must be set: ReadIdle, WriteIdle,
// AllIdle, MaxAge, Handshake or PingEvery.
type Config struct {
	ReadIdle  time.Duration // without a TouchRead
	WriteIdle time.Duration // without a TouchWrite
	AllIdle   time.Duration // without either

	// MaxAge is how long after Track a connection is asked about, however busy it is: up to Jitter earlier, so that those that
	// came together do not go together.
	MaxAge time.Duration

	// Handshake is how long after Track the first TouchRead may take.
	Handshake time.Duration

	// PingEvery is how long a connection may be silent, without TouchRead or Pong, until the group asks for a ping: up to Jitter
	// earlier. What is sent to the peer does not put its ping off.
	PingEvery time.Duration

	// PongWait is how long after a ping a TouchRead or Pong must come. If none does, the ping is missed. Default: PingEvery.
	PongWait time.Duration

	// MaxMissed is how many pings in a row are missed until the reason is PongTimeout; before that the group asks for another at
	// once. Default 1, at most 255.
	MaxMissed int

	// Jitter is the share of PingEvery and MaxAge, drawn anew for each ping, by which they may be shorter. Default 0.1, at most
	// 1; negative: none.
	Jitter float64

	// Resolution is how exact all of these are: nothing comes early, and everything at the latest two resolutions after its time. A
	// group that has connections wakes up twice in each. A process that is later than that to do so has stalled, and gives every
	// connection a new timeout: on a machine that often is, choose a coarser one. Default: the smallest timeout / 64, within 10 ms and
	// 1 s; at least 1 ms, and a 2^28th of the longest timeout.
	Resolution time.Duration

	// MaxPerTick is how many connections at most the group asks about in one resolution, its tick; the rest wait for the next. 0: no
	// limit.
	MaxPerTick int

	// Workers is how many goroutines at most call `on` and close. They exist only while there is something to do. A call that
	// blocks, say because a ping meets a full socket, holds one of them: hand writes to whoever writes for the connection. Default 4.
	Workers int

	// Activity says where the group learns when a connection was used: Touch (default) or Kernel.
	Activity Source
}

// Source says where a Group learns when a connection was used.
type Source uint8

const (
	// Touch is the default: the program calls TouchRead and TouchWrite.
	Touch Source = iota

	// Kernel asks the operating system when bytes last came and went, when a timeout may have passed: under a microsecond for each look.
	// It needs TCP on Linux, and not Multipath TCP. Touches and pongs count as well.
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

// limits is a Config with its defaults, and without jitter and pressure in mind.
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
	longestSteps       = 1 << 29 // of a timeout: steps are compared in 32 bits
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

// resolution returns the one that was wished, or the default; it is coarser if the longest timeout needs that.
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
