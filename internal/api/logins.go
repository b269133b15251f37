package api

import (
	"net/netip"
	"sync"
	"sync/atomic"
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
	known atomic.Int64 // len(addrs); written with mu held, read without: if 0, valid requests skip the lock

	mu    sync.Mutex // guards addrs
	addrs map[netip.Addr]tokenbucket.Bucket
}

// wait returns the time until addr is allowed to fail again, zero for now.
func (l *logins) wait(addr netip.Addr, now time.Time) time.Duration {
	if l.known.Load() == 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b, ok := l.addrs[tokenbucket.ClientOf(addr)]
	if !ok {
		return 0
	}
	return b.Wait(now, loginRate, loginBurst)
}

func (l *logins) failed(addr netip.Addr, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.addrs == nil {
		l.addrs = map[netip.Addr]tokenbucket.Bucket{}
	}
	key := tokenbucket.ClientOf(addr)
	b, ok := l.addrs[key]
	if !ok {
		l.makeRoomLocked(now)
	}
	b.Take(now, 1, loginRate, loginBurst)
	l.addrs[key] = b
	l.known.Store(int64(len(l.addrs)))
}

// makeRoomLocked examines a few addresses, in the random order of the map, and
// forgets those with a full bucket. It examines more addresses than are added,
// so each such address is forgotten in time. If there is still no room, it
// forgets the examined address with the fewest failures. It must be called with
// mu held.
func (l *logins) makeRoomLocked(now time.Time) {
	const few = 8
	var best netip.Addr
	least, looked := float64(loginBurst+1), 0
	for addr, b := range l.addrs {
		if missing := b.Missing(now, loginRate); missing == 0 {
			delete(l.addrs, addr)
		} else if missing < least {
			best, least = addr, missing
		}
		if looked++; looked == few {
			break
		}
	}
	if len(l.addrs) >= loginAddrs {
		delete(l.addrs, best)
	}
}
