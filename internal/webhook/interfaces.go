package webhook

import (
	"net"
	"net/netip"
	"sync"
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

	mu    sync.Mutex // guards everything below
	addrs map[netip.Addr]bool
	at    time.Time // when they were read
}

// newMachine reads the list, so that a later failure leaves one.
func newMachine(read func() ([]netip.Addr, error), now func() time.Time) *machine {
	m := &machine{read: read, now: now}
	m.has(netip.Addr{})
	return m
}

// has reports whether the plain address a belongs to an interface, by a list that is
// at most interfacesAge old. If the list cannot be read, the previous one stays.
func (m *machine) has(a netip.Addr) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := m.now(); now.Sub(m.at) >= interfacesAge {
		m.at = now
		if list, err := m.read(); err == nil {
			m.addrs = make(map[netip.Addr]bool, len(list))
			for _, a := range list {
				m.addrs[plain(a)] = true
			}
		}
	}
	return m.addrs[a]
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
