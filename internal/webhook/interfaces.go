package webhook

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// interfacesAge is how old the list of this machine's addresses may be, because
// to read it takes some ten microseconds, which is too much for each attempt.
const interfacesAge = time.Second

// machine holds the addresses of this machine's interfaces, which change while
// a process runs: an address may move to another machine and back.
type machine struct {
	read func() ([]netip.Addr, error)
	now  func() time.Time

	known   atomic.Pointer[interfaces] // the goroutine that holds reading writes it, every attempt reads it
	reading sync.Mutex                 // held while the list is read
}

// interfaces is the list at one time, and never changes.
type interfaces struct {
	addrs map[netip.Addr]struct{}
	at    time.Time
}

func newMachine(read func() ([]netip.Addr, error), now func() time.Time) *machine {
	m := &machine{read: read, now: now}
	m.known.Store(&interfaces{at: now().Add(-2 * interfacesAge)})
	m.refresh(now())
	return m
}

// has reports whether the plain address a belongs to an interface. The list is
// at most interfacesAge old, unless another goroutine is reading it now.
func (m *machine) has(a netip.Addr) bool {
	if now := m.now(); now.Sub(m.known.Load().at) >= interfacesAge {
		m.refresh(now)
	}
	_, found := m.known.Load().addrs[a]
	return found
}

// refresh reads the list, or returns at once if another goroutine is reading.
// If the list cannot be read, the previous one stays.
func (m *machine) refresh(now time.Time) {
	if !m.reading.TryLock() {
		return
	}
	defer m.reading.Unlock()
	last := m.known.Load()
	if now.Sub(last.at) < interfacesAge {
		return // another goroutine was faster
	}
	next := &interfaces{addrs: last.addrs, at: now}
	if list, err := m.read(); err == nil {
		next.addrs = make(map[netip.Addr]struct{}, len(list))
		for _, a := range list {
			next.addrs[plain(a)] = struct{}{}
		}
	}
	m.known.Store(next)
}

// InterfaceAddrs returns the present addresses of this machine's interfaces.
func InterfaceAddrs() ([]netip.Addr, error) {
	nets, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	addrs := make([]netip.Addr, 0, len(nets))
	for _, n := range nets {
		if p, err := netip.ParsePrefix(n.String()); err == nil {
			addrs = append(addrs, plain(p.Addr()))
		}
	}
	return addrs, nil
}
