package idle

import (
	"fmt"
	"time"
)

// Reason is the cause for which a Group calls the callback.
type Reason uint8

// The reasons. Reason(0) is no reason: the callback never gets it, and it
// prints as "Reason(0)".
const (
	ReadIdle    Reason = 1 + iota // no read for Config.ReadIdle
	WriteIdle                     // no write for Config.WriteIdle
	AllIdle                       // neither for Config.AllIdle
	Age                           // it is Config.MaxAge old
	Handshake                     // no read ever, and Config.Handshake is over
	Ping                          // no sign of life for Config.PingEvery: send a ping, and return Keep
	PongTimeout                   // Config.MaxMissed pings in a row were not answered
	Evicted                       // EvictIdlest or Drain chose it
)

var reasonNames = [...]string{
	ReadIdle: "read idle", WriteIdle: "write idle", AllIdle: "all idle", Age: "age", Handshake: "handshake",
	Ping: "ping", PongTimeout: "pong timeout", Evicted: "evicted",
}

// String returns the reason in words, such as "read idle".
func (r Reason) String() string {
	if int(r) < len(reasonNames) && r > 0 {
		return reasonNames[r]
	}
	return fmt.Sprintf("Reason(%d)", uint8(r))
}

// Verdict is the decision of the callback about a connection: Keep, Close or
// the result of KeepFor. Make no other values. The zero Verdict is Keep.
type Verdict int64

const (
	// Keep leaves the connection open: a new timeout begins. After Ping it
	// means that the ping was sent, and the wait for the pong begins. After Age
	// the group asks again after a tenth of MaxAge.
	Keep Verdict = 0

	// Close makes the group forget the connection. If the connection is an
	// io.Closer, the group also closes it, without holding any lock. If
	// something was read, a pong came, or the process stalled, since the
	// callback was called, the connection stays, unless the reason is Age, Ping
	// or Evicted.
	Close Verdict = -1
)

// KeepFor keeps the connection and sets the time until the group asks again for
// the same reason. It replaces the timeout of the Config, with or without
// pressure. After Ping it is the time for the pong. The group asks again at
// most two resolutions after d. If d is zero or less, it asks again two
// resolutions later. The longest time is 2^28 resolutions.
func KeepFor(d time.Duration) Verdict { return Verdict(max(d, 1)) }

// String returns "close", "keep", or the time for which to keep.
func (v Verdict) String() string {
	switch {
	case v == Close:
		return "close"
	case v <= 0:
		return "keep"
	}
	return "keep for " + time.Duration(v).String()
}
