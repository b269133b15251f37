package idle

import (
	"fmt"
	"time"
)

// Reason is the cause for which a Group calls the callback.
type Reason uint8

// The reasons. Reason(0) is no reason, which the callback never gets and which
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

// Verdict is the decision of the callback about a connection. Keep, Close and
// KeepFor make it, and the zero Verdict is that of Keep.
type Verdict struct {
	closes bool
	hold   time.Duration // of KeepFor; otherwise 0
}

// Keep leaves the connection open, and a new timeout begins. After Ping it means
// that the ping was sent, so the wait for the pong begins, and after Age the
// group asks again after a tenth of MaxAge.
func Keep() Verdict { return Verdict{} }

// KeepFor is Keep, but sets the time until the group asks again for the same
// reason, in place of the timeout of the Config, with or without pressure. After
// Ping it is the time for the pong. The group asks again at most two resolutions
// after d, or two resolutions later if d is zero or less. The longest time is
// 2^28 resolutions.
func KeepFor(d time.Duration) Verdict { return Verdict{hold: max(d, 1)} }

// Close makes the group forget the connection and, if it is an io.Closer, also
// close it, without holding any lock. If something was read, a pong came, or the
// process stalled, since the callback was called, the connection stays, unless
// the reason is Age, Ping or Evicted.
func Close() Verdict { return Verdict{closes: true} }
