package api

import (
	"net/netip"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/tokenbucket"
)

// The limits of invalid tokens from one address: loginBurst at once, and after
// that loginRate a second. A token has 256 random bits, so guessing is hopeless,
// but the limits protect the log and the processor from guesses.
const (
	loginBurst = 10
	loginRate  = 1.0 / 6

	// loginAddrs bounds the remembered addresses, at about 100 bytes each.
	loginAddrs = 10_000
)

// logins limits failed logins by client address. A client above the limit must
// wait. A request with a valid token is never limited, because many clients can
// share one address, and a client with an old token must not lock out the other
// clients. The zero value is ready.
type logins struct {
	mu    sync.Mutex // guards addrs
	addrs map[netip.Addr]tokenbucket.Bucket
}

// take counts a failed login of addr. If that is one too many, it returns the time to
// wait.
func (l *logins) take(addr netip.Addr, now time.Time) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.addrs == nil || len(l.addrs) >= loginAddrs { // so many addresses guess that the limits would help nobody
		l.addrs = map[netip.Addr]tokenbucket.Bucket{}
	}
	key := tokenbucket.ClientOf(addr)
	b := l.addrs[key] // the zero bucket is full
	_, wait = b.Take(now, 1, loginRate, loginBurst)
	l.addrs[key] = b
	return wait
}
