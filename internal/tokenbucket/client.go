package tokenbucket

import "net/netip"

// ClientOf returns the address under which the limits of a client at addr are
// counted. For IPv6 it is the client's /64, because one machine has 2^64
// addresses.
func ClientOf(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if !addr.Is6() {
		return addr
	}
	p, _ := addr.Prefix(64) // valid for every IPv6 address
	return p.Addr()
}
