package task

import (
	"cmp"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// Address returns host:port in the form that a connection to u's host needs. A
// name in another alphabet is encoded in ASCII, and if u has no port, the port
// is the scheme's. u must be a valid URL of a task.
func Address(u *url.URL) string { return net.JoinHostPort(asciiHost(u.Hostname()), portOf(u)) }

// RequestURI returns the path and the query of u as a request contains them. It
// percent-encodes each byte that RFC 3986 does not allow there, such as letters
// of other alphabets, because servers answer 400 to such a byte. It decodes
// nothing, so an encoded slash stays one; url.URL.RequestURI would keep a query
// as it is.
func RequestURI(u *url.URL) string {
	raw := cmp.Or(u.RawPath, u.EscapedPath(), "/")
	if u.ForceQuery || u.RawQuery != "" {
		raw += "?" + u.RawQuery
	}
	const hex = "0123456789ABCDEF"
	b := make([]byte, 0, len(raw))
	for i := range len(raw) {
		c := raw[i]
		if alphanumeric(c) || strings.IndexByte("-._~!$&'()*+,;=:@/?", c) >= 0 || c == '%' && encoded(raw[i:]) {
			b = append(b, c)
		} else {
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(b)
}

// encoded reports whether s begins with a percent-encoded byte.
func encoded(s string) bool {
	if len(s) < len("%20") {
		return false
	}
	_, err := strconv.ParseUint(s[1:3], 16, 8)
	return err == nil
}

// destination returns the name of u's receiver in a lane: Address in one
// spelling. Limits and breakers count by this name, so a second spelling of a
// host must not get a second lane. An address with several names has a lane for
// each name.
func destination(u *url.URL) string {
	return net.JoinHostPort(canonicalHost(asciiHost(u.Hostname())), portOf(u))
}

// kindPrefix begins the destination of a kind, and cannot begin a host, because
// no host contains a slash.
const kindPrefix = "kind/"

// KindDestination returns the destination of the tasks of a kind.
func KindDestination(kind string) string { return kindPrefix + kind }

// KindOf returns the kind that has a destination, or "" if it is host:port.
func KindOf(destination string) string {
	kind, ok := strings.CutPrefix(destination, kindPrefix)
	if !ok {
		return ""
	}
	return kind
}

// portOf returns u's port without leading zeros.
func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err == nil {
			return strconv.Itoa(n)
		}
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

// asciiHost returns the host as net/http passes it to a resolver, or the name
// as it is if it has no form in ASCII.
func asciiHost(host string) string {
	if isASCII(host) {
		return host
	}
	if ascii, err := idna.Lookup.ToASCII(host); err == nil && validHost(ascii) {
		return ascii
	}
	return host
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// canonicalHost returns the canonical spelling of a host: a name in lower case,
// without the dot at the end, and an address in its usual form.
func canonicalHost(host string) string {
	host = strings.ToLower(host)
	if short := strings.TrimSuffix(host, "."); short != "" && !strings.HasSuffix(short, ".") {
		host = short
	}
	if a, ok := parseAddr(host); ok {
		return a.Unmap().WithZone("").String()
	}
	if a, ok := numericHost(host); ok {
		return a.String()
	}
	return host
}

// parseAddr reads an address in its usual form. It refuses names without a call
// of netip.ParseAddr, which would allocate an error, because most hosts are
// names.
func parseAddr(host string) (netip.Addr, bool) {
	if !startsWithDigit(host) && !strings.Contains(host, ":") {
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(host)
	return a, err == nil
}

func startsWithDigit(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

// numericHost reads an IPv4 address as the C library does: one to four numbers,
// each decimal, octal after a 0, or hexadecimal after 0x. The last number fills
// the bytes that are left.
func numericHost(host string) (netip.Addr, bool) {
	if !startsWithDigit(host) {
		return netip.Addr{}, false
	}
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var b [4]byte
	for i, part := range parts {
		n, ok := cNumber(part)
		left := 8 * (4 - i) // bits
		if i < len(parts)-1 {
			if !ok || n > 0xff {
				return netip.Addr{}, false
			}
			b[i] = byte(n)
			continue
		}
		if !ok || n >= 1<<left {
			return netip.Addr{}, false
		}
		for at := 3; at >= i; at-- {
			b[at] = byte(n)
			n >>= 8
		}
	}
	return netip.AddrFrom4(b), true
}

// cNumber reads a number as the C language writes it.
func cNumber(text string) (uint64, bool) {
	base := 10
	switch {
	case strings.HasPrefix(text, "0x"):
		base, text = 16, text[2:]
	case len(text) > 1 && text[0] == '0':
		base, text = 8, text[1:]
	}
	if strings.HasPrefix(text, "+") || strings.HasPrefix(text, "-") || strings.Contains(text, "_") {
		return 0, false
	}
	n, err := strconv.ParseUint(text, base, 64)
	return n, err == nil
}
