package api

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// How many tokens that are none of ours an address may show: so many at once,
// so many a second after that. A token has 256 random bits, so the limit is no
// wall but what keeps guesses out of the log and off the processor.
const (
	loginBurst = 10
	loginRate  = 1.0 / 6

	// loginAddrs bounds the addresses that are remembered, at a hundred bytes each.
	loginAddrs = 10_000
)

// logins limits failed logins by client address: whoever is over the limit is
// told to wait. A good token is never asked for: many clients may stand behind
// one address, and a single one that still shows an old token must not keep
// the others out. The zero value is ready.
type logins struct {
	known atomic.Int64 // len(addrs); written under mu, read without it: 0 spares good requests the lock

	mu    sync.Mutex // guards addrs
	addrs map[netip.Addr]bucket
}

// wait returns how long it is until addr may fail again, 0: it may now.
func (l *logins) wait(addr netip.Addr, now time.Time) time.Duration {
	if l.known.Load() == 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b, ok := l.addrs[network(addr)]
	if !ok {
		return 0
	}
	return b.wait(now, loginRate, loginBurst)
}

// failed counts a token that was none of ours.
func (l *logins) failed(addr netip.Addr, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.addrs == nil {
		l.addrs = map[netip.Addr]bucket{}
	}
	key := network(addr)
	b, ok := l.addrs[key]
	if !ok {
		l.makeRoomLocked(now)
	}
	b.take(now, 1, loginRate, loginBurst)
	l.addrs[key] = b
	l.known.Store(int64(len(l.addrs)))
}

// makeRoomLocked looks at a few addresses, in the map's random order, and
// forgets those that have their whole limit again: more than come in, so that
// they all go in time. Where there is no room it forgets the best of them.
func (l *logins) makeRoomLocked(now time.Time) {
	const few = 8
	var best netip.Addr
	least, looked := float64(loginBurst+1), 0
	for addr, b := range l.addrs {
		if b.refill(now, loginRate); b.missing == 0 {
			delete(l.addrs, addr)
		} else if b.missing < least {
			best, least = addr, b.missing
		}
		if looked++; looked == few {
			break
		}
	}
	if len(l.addrs) >= loginAddrs {
		delete(l.addrs, best)
	}
}

// network is what counts as one address: one machine has 2^64 of IPv6.
func network(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if !addr.Is6() {
		return addr
	}
	p, _ := addr.Prefix(64) // fits every IPv6 address
	return p.Addr()
}
