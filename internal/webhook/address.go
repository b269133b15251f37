package webhook

import (
	"net/netip"
	"slices"

	"code.dny.dev/ssrf"
)

var broadcast = netip.MustParseAddr("255.255.255.255")

// metadata are the addresses at which clouds hand credentials to whoever asks
// from inside a machine, and their neighbours that steer the machine. No task
// has business there, so no flag opens them.
var metadata = []netip.Prefix{
	netip.MustParsePrefix("169.254.169.254/32"),    // AWS, Google, Azure, Oracle, DigitalOcean, Hetzner, OpenStack
	netip.MustParsePrefix("169.254.169.253/32"),    // AWS: the resolver
	netip.MustParsePrefix("169.254.169.252/32"),    // Google GKE: credentials of a pod
	netip.MustParsePrefix("169.254.170.2/32"),      // AWS ECS: credentials of a container
	netip.MustParsePrefix("169.254.170.23/32"),     // AWS EKS: credentials of a pod
	netip.MustParsePrefix("169.254.42.42/32"),      // Scaleway
	netip.MustParsePrefix("169.254.0.23/32"),       // Tencent
	netip.MustParsePrefix("100.100.100.200/32"),    // Alibaba
	netip.MustParsePrefix("168.63.129.16/32"),      // Azure: the host's agent; a public address, no registry lists it
	netip.MustParsePrefix("169.254.128.0/22"),      // Azure App Service, Container Apps: credentials of an app
	netip.MustParsePrefix("192.0.0.192/32"),        // Oracle Classic
	netip.MustParsePrefix("fd00:ec2::/32"),         // AWS: metadata, credentials and resolver over IPv6
	netip.MustParsePrefix("fd20:ce::254/128"),      // Google over IPv6
	netip.MustParsePrefix("fd00:c1::/32"),          // Oracle over IPv6
	netip.MustParsePrefix("fd00:42::42/128"),       // Scaleway over IPv6
	netip.MustParsePrefix("fd00:a9fe:a9fe::/64"),   // Linode over IPv6
	netip.MustParsePrefix("fd00:100::100:200/128"), // Alibaba over IPv6
}

// isMetadata reports whether a, which must be plain, is a metadata address or
// an IPv6 address in which one stands, in any of the places where a translator
// looks. Operators choose their own translation prefixes, so the prefix says
// nothing; that an honest address has these very bytes there is a matter of
// one in a hundred million. (Not so for the wider prefixes of the list: they count
// where the translation is a well-known one.)
func isMetadata(a netip.Addr) bool {
	if within(metadata, a) {
		return true
	}
	if a.Is4() {
		return false
	}
	for _, at := range embeddings {
		if inner := embedded(a, at); slices.ContainsFunc(metadata, func(p netip.Prefix) bool { return p.IsSingleIP() && p.Contains(inner) }) {
			return true
		}
	}
	return slices.ContainsFunc(carried(a), func(inner netip.Addr) bool { return within(metadata, inner) })
}

// embeddings are the places where a translator looks for the bytes of an IPv4
// address, for prefixes of 32, 40, 48, 56, 64 and 96 bits (RFC 6052, section
// 2.2). Byte 8 is skipped.
var embeddings = [][4]int{
	{4, 5, 6, 7}, {5, 6, 7, 9}, {6, 7, 9, 10}, {7, 9, 10, 11}, {9, 10, 11, 12}, {12, 13, 14, 15},
}

func embedded(a netip.Addr, at [4]int) netip.Addr {
	b := a.As16()
	return netip.AddrFrom4([4]byte{b[at[0]], b[at[1]], b[at[2]], b[at[3]]})
}

var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	localNAT64 = netip.MustParsePrefix("64:ff9b:1::/48")
	sixToFour  = netip.MustParsePrefix("2002::/16")
	teredo     = netip.MustParsePrefix("2001::/32")
	compatible = netip.MustParsePrefix("::/96")
	translated = netip.MustParsePrefix("::ffff:0:0:0/96")

	thisNetwork = netip.MustParsePrefix("0.0.0.0/8")
)

// carried returns the IPv4 addresses that the IPv6 address a may stand for
// under one of the well-known translations and tunnels.
func carried(a netip.Addr) []netip.Addr {
	if a.Is4() || a == netip.IPv6Loopback() || a.IsUnspecified() {
		return nil
	}
	b := a.As16()
	last := netip.AddrFrom4([4]byte(b[12:16]))
	var inner []netip.Addr
	switch {
	case nat64.Contains(a), compatible.Contains(a), translated.Contains(a):
		inner = append(inner, last)
	case sixToFour.Contains(a):
		inner = append(inner, netip.AddrFrom4([4]byte(b[2:6])))
	case teredo.Contains(a): // the client's address, with each bit turned over
		inner = append(inner, netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}))
	case localNAT64.Contains(a):
		// The operator chose where in it the bytes stand. What begins with a
		// zero is the padding of another choice.
		for _, at := range embeddings[2:] {
			if v4 := embedded(a, at); !thisNetwork.Contains(v4) {
				inner = append(inner, v4)
			}
		}
	}
	if b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe { // ISATAP, under whatever prefix
		inner = append(inner, last)
	}
	return inner
}

// plain returns a without a zone, and an IPv4 address that is written as IPv6
// as what the system makes of it: IPv4. Prefixes contain no zoned address.
func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// plainPrefix is plain for prefixes.
func plainPrefix(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}

func plainPrefixes(list []netip.Prefix) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, p := range list {
		out[i] = plainPrefix(p)
	}
	return out
}

// containing returns the first prefix that contains a.
func containing(prefixes []netip.Prefix, a netip.Addr) (netip.Prefix, bool) {
	for _, p := range prefixes {
		if p.Contains(a) {
			return p, true
		}
	}
	return netip.Prefix{}, false
}

func within(prefixes []netip.Prefix, a netip.Addr) bool {
	_, ok := containing(prefixes, a)
	return ok
}

// public says which addresses are of the public internet.
var public = ssrf.New(ssrf.WithAnyPort())

// kind says what the address a is, whether it is open or not.
func kind(a netip.Addr) string {
	switch {
	case public.SafeAddr(a) == nil:
		return "a public address"
	case a.IsLoopback():
		return "a loopback address"
	case a.IsPrivate():
		return "a private address"
	case a.IsLinkLocalUnicast():
		return "a link-local address"
	}
	return "a special-purpose address"
}
