package webhook

import (
	"fmt"
	"net/netip"
	"slices"

	"code.dny.dev/ssrf"
)

var broadcast = netip.MustParseAddr("255.255.255.255")

// metadata are the addresses at which clouds give credentials to any process on
// a machine, and related addresses that control the machine. No task needs
// them, so no flag opens them.
var metadata = []netip.Prefix{
	netip.MustParsePrefix("169.254.169.254/32"),    // AWS, Google, Azure, Oracle, DigitalOcean, Hetzner, OpenStack
	netip.MustParsePrefix("169.254.169.253/32"),    // AWS: the resolver
	netip.MustParsePrefix("169.254.169.252/32"),    // Google GKE: credentials of a pod
	netip.MustParsePrefix("169.254.170.2/32"),      // AWS ECS: credentials of a container
	netip.MustParsePrefix("169.254.170.23/32"),     // AWS EKS: credentials of a pod
	netip.MustParsePrefix("169.254.42.42/32"),      // Scaleway
	netip.MustParsePrefix("169.254.0.23/32"),       // Tencent
	netip.MustParsePrefix("100.100.100.200/32"),    // Alibaba
	netip.MustParsePrefix("168.63.129.16/32"),      // Azure: the host's agent; a public address that no registry lists
	netip.MustParsePrefix("169.254.128.0/22"),      // Azure App Service, Container Apps: credentials of an app
	netip.MustParsePrefix("192.0.0.192/32"),        // Oracle Classic
	netip.MustParsePrefix("fd00:ec2::/32"),         // AWS: metadata, credentials and resolver over IPv6
	netip.MustParsePrefix("fd20:ce::254/128"),      // Google over IPv6
	netip.MustParsePrefix("fd00:c1::/32"),          // Oracle over IPv6
	netip.MustParsePrefix("fd00:42::42/128"),       // Scaleway over IPv6
	netip.MustParsePrefix("fd00:a9fe:a9fe::/64"),   // Linode over IPv6
	netip.MustParsePrefix("fd00:100::100:200/128"), // Alibaba over IPv6
}

// isMetadata reports whether a, which must be plain, is a metadata address, or
// an IPv6 address that contains one at any position where a translator reads
// it. Operators choose their own translation prefixes, so the prefix is not
// checked. An unrelated address has these bytes there by chance once in a
// hundred million. (The wider prefixes of the list would match more often, so
// they count only in well-known translations.)
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

// embeddings are the positions of the bytes of an IPv4 address in a
// translator's IPv6 address, for prefixes of 32, 40, 48, 56, 64 and 96 bits
// (RFC 6052, section 2.2). Byte 8 is skipped.
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

// carried returns the IPv4 addresses for which the IPv6 address a may stand in
// a well-known translation or tunnel.
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
	case teredo.Contains(a): // the client's address, with all bits inverted
		inner = append(inner, netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}))
	case localNAT64.Contains(a):
		// The operator chose the position of the bytes, and a result that
		// begins with zero is the padding of another one.
		for _, at := range embeddings[2:] {
			if v4 := embedded(a, at); !thisNetwork.Contains(v4) {
				inner = append(inner, v4)
			}
		}
	}
	if b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe { // ISATAP, under any prefix
		inner = append(inner, last)
	}
	return inner
}

// plain returns a without a zone, and converts an IPv4-mapped IPv6 address to
// IPv4, as the system does. Prefixes contain no zoned address.
func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// plainPrefix is like plain, for prefixes.
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

// public decides whether an address belongs to the public internet.
var public = ssrf.New(ssrf.WithAnyPort())

// kind describes the address a, open or not.
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

// ParsePrefixes parses CIDRs, where a single address is a prefix of full length.
func ParsePrefixes(texts []string) ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if a, single := netip.ParseAddr(text); single == nil && a.Zone() == "" {
			p, err = netip.PrefixFrom(a, a.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("%q is not a CIDR, such as 10.0.0.0/8", text)
		}
		prefixes = append(prefixes, p)
	}
	return prefixes, nil
}
