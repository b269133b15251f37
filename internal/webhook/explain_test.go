package webhook

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
)

// answers returns a lookup that yields these addresses, or no such host if
// there are none.
func answers(list ...string) func(context.Context, string, string) ([]netip.Addr, error) {
	return func(_ context.Context, _, host string) ([]netip.Addr, error) {
		if len(list) == 0 {
			return nil, &net.DNSError{Err: "no such host", Name: host, Server: "192.0.2.53:53", IsNotFound: true}
		}
		return addrs(list...), nil
	}
}

func TestAnExplanationPredictsAnAttempt(t *testing.T) {
	guard := NewGuard(Config{
		Allow:         prefixes("10.20.0.0/16", "64:ff9b::/96"),
		Deny:          prefixes("10.20.30.0/24", "93.184.215.0/24"),
		AllowLoopback: always,
		Own:           owning("127.0.0.1:8750"),
	})
	for _, c := range []struct {
		url, resolves string
		open          bool
		lines         string // "address reason", one for each address
	}{
		{"http://shop.test/", "93.184.216.34", true, "93.184.216.34:80 a public address"},
		{"https://SHOP.test:8443/x?y", "93.184.216.34", true, "93.184.216.34:8443 a public address"},
		{"https://10.20.1.1", "", true, "10.20.1.1:443 a private address, in 10.20.0.0/16, which the configuration opens"},
		{"http://localhost:9000/", "127.0.0.1", true, "127.0.0.1:9000 a loopback address"},
		{"http://127.0.0.1:8750/v1/tasks", "", false, "127.0.0.1:8750 an address of this server, of another node, of the store or of the trace collector, which --egress-allow does not open"},
		{"http://10.1.2.3/", "", false, "10.1.2.3:80 a private address; --egress-allow 10.1.2.3/32 opens it"},
		{"http://[::ffff:10.1.2.3]/", "", false, "10.1.2.3:80 a private address; --egress-allow 10.1.2.3/32 opens it"},
		{"http://[fd00::1]/", "", false, "[fd00::1]:80 a private address; --egress-allow fd00::1/128 opens it"},
		{"http://10.20.30.40/", "", false, "10.20.30.40:80 a private address, and --egress-deny 10.20.30.0/24 closes it"},
		{"http://closed.test/", "93.184.215.7", false, "93.184.215.7:80 a public address, and --egress-deny 93.184.215.0/24 closes it"},
		{"http://meta.test/", "169.254.169.254", false, "169.254.169.254:80 a cloud metadata address, which --egress-allow does not open"},
		{"http://[64:ff9b::a01:203]/", "", false, "[64:ff9b::a01:203]:80 a special-purpose address that leads to 10.1.2.3, a private address; --egress-allow 10.1.2.3/32 opens it"},
		{"http://[64:ff9b::5db8:d822]/", "", true, "[64:ff9b::5db8:d822]:80 a special-purpose address, in 64:ff9b::/96, which the configuration opens"},
		{"http://both.test/", "10.1.2.3 93.184.216.34", true, "10.1.2.3:80 a private address; --egress-allow 10.1.2.3/32 opens it|93.184.216.34:80 a public address"},
	} {
		e := guard.Explain(t.Context(), c.url, answers(strings.Fields(c.resolves)...))
		var lines []string
		for _, a := range e.Addresses {
			addr := netip.AddrPortFrom(netip.MustParseAddr(a.Address), e.Port)
			lines = append(lines, addr.String()+" "+a.Reason)
			if (guard.Verdict(addr) == nil) != a.Open {
				t.Errorf("%s: %v is explained as open: %v, the guard says %v", c.url, addr, a.Open, guard.Verdict(addr))
			}
		}
		if got := strings.Join(lines, "|"); got != c.lines || e.Open != c.open || e.Problem != "" {
			t.Errorf("%s: open %v, %q\n got %s\nwant %s", c.url, e.Open, e.Problem, got, c.lines)
		}
	}
	if e := guard.Explain(t.Context(), "HTTPS://Shop.test:8443/", answers("93.184.216.34")); e.Scheme != "https" || e.Host != "shop.test" || e.Port != 8443 {
		t.Errorf("got %+v", e)
	}
}

func TestAnExplanationNamesTheReasonIfThereIsNoAddress(t *testing.T) {
	broken := func(context.Context, string, string) ([]netip.Addr, error) { return nil, errors.New("the wire is cut") }
	for _, c := range []struct {
		url    string
		lookup func(context.Context, string, string) ([]netip.Addr, error)
		want   string
	}{
		{"http://nowhere.test/", answers(), "cannot resolve nowhere.test: no such host"},
		{"http://nowhere.test/", broken, "cannot resolve nowhere.test: the wire is cut"},
		{"ftp://shop.test/", broken, "must begin with http:// or https://"},
		{"shop.test", broken, "must begin with http:// or https://"},
		{"http://user:secret@shop.test/", broken, "must not have a user name or password: send an authorization header"},
		{"http://[fe80::1%25eth0]/", broken, "the URL's host is neither a name nor an address"},
		{"http://shop.test:0/", broken, "the URL's port must be between 1 and 65535"},
		{"", broken, "a task needs the URL to call"},
	} {
		e := NewGuard(Config{}).Explain(t.Context(), c.url, c.lookup)
		if e.Problem != c.want || e.Open || len(e.Addresses) > 0 {
			t.Errorf("%q: %+v, want %q", c.url, e, c.want)
		}
	}
}

func FuzzExplain(f *testing.F) {
	for _, url := range []string{"http://shop.test/", "https://[::1]:8443", "http://0x7f.1/", "http://[fe80::1%25eth0]/", "http://a:99999/"} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		e := NewGuard(Config{}).Explain(t.Context(), url, answers("127.0.0.1"))
		if (e.Problem == "") != (len(e.Addresses) == 1) || e.Problem == "" && (e.Host == "" || e.Port == 0 || e.Scheme != "http" && e.Scheme != "https") {
			t.Errorf("%q: %+v", url, e)
		}
	})
}
