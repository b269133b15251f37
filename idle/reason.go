package idle

import (
	"fmt"
	"time"
)

// Reason is the cause for which a Group calls `on`.
type Reason uint8

// The reasons. There is no zero Reason.
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

// Verdict is the decision of `on` about a connection. The zero Verdict is Keep.
type Verdict int64

const (
	// Keep leaves the connection open: a new timeout begins. After Ping it
	// means that the ping was sent, and the wait for the pong begins. After Age
	// the group asks again after a tenth of MaxAge.
	Keep Verdict = 0

	// Close makes the group forget the connection and, if it is an io.Closer,
	// close it, without holding any lock. If the connection was read from since
	// `on` was called, or a pong came, it stays, unless the reason is Age, Ping
	// or Evicted.
	Close Verdict = -1
)

// KeepFor keeps the connection and sets the time until the group asks again for
// the same reason. It replaces the timeout of the Config, with or without
// pressure. After Ping it is the time for the pong. The longest time is 2^28
// resolutions.
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
