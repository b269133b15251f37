package httpserver

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestTheClientAddressIsTakenFromTrustedProxiesOnly(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, c := range []struct {
		remote              string
		forwarded, standard []string
		want                string
	}{
		{"192.0.2.1:99", []string{"198.51.100.7"}, nil, "192.0.2.1"},
		{"192.0.2.1:99", nil, []string{"for=198.51.100.7"}, "192.0.2.1"},
		{"10.0.0.1:99", nil, nil, "10.0.0.1"},
		{"10.0.0.1:99", []string{"198.51.100.7"}, nil, "198.51.100.7"},
		{"[::ffff:10.0.0.1]:99", []string{"198.51.100.7"}, nil, "198.51.100.7"},
		{"[fd00::1]:99", []string{"2001:db8::7"}, nil, "2001:db8::7"},
		// The client's own text precedes the text that the proxy added.
		{"10.0.0.1:99", []string{"1.1.1.1, 198.51.100.7"}, nil, "198.51.100.7"},
		{"10.0.0.1:99", []string{"1.1.1.1", "198.51.100.7"}, nil, "198.51.100.7"},
		{"10.0.0.1:99", []string{"1.1.1.1, 198.51.100.7, 10.9.9.9"}, nil, "198.51.100.7"},
		{"10.0.0.1:99", []string{"10.1.1.1, 10.2.2.2"}, nil, "10.1.1.1"},
		{"10.0.0.1:99", []string{"1.1.1.1, unknown"}, nil, "10.0.0.1"},
		{"10.0.0.1:99", []string{"1.1.1.1, , 10.2.2.2"}, nil, "10.2.2.2"},
		{"10.0.0.1:99", []string{""}, nil, "10.0.0.1"},
		{"10.0.0.1:99", []string{"198.51.100.7:4711"}, nil, "198.51.100.7"},
		{"10.0.0.1:99", []string{"[2001:db8::7]:4711"}, nil, "2001:db8::7"},
		{"10.0.0.1:99", nil, []string{`for="[2001:db8::7]:4711";proto=https, For=198.51.100.7;by=10.0.0.1`}, "198.51.100.7"},
		{"10.0.0.1:99", nil, []string{`proto=https;for="[2001:db8::7]"`}, "2001:db8::7"},
		{"10.0.0.1:99", nil, []string{"for=_hidden"}, "10.0.0.1"},
		{"10.0.0.1:99", nil, []string{"proto=https"}, "10.0.0.1"},
		// The proxy wrote one header and passed the other on.
		{"10.0.0.1:99", []string{"198.51.100.7"}, []string{"for=1.1.1.1"}, "10.0.0.1"},
		{"10.0.0.1:99", []string{"198.51.100.7"}, []string{"for=198.51.100.7"}, "198.51.100.7"},
		{"@", []string{"198.51.100.7"}, nil, "invalid IP"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = c.remote
		r.Header["X-Forwarded-For"], r.Header["Forwarded"] = c.forwarded, c.standard
		if got := ClientAddr(proxies)(r).String(); got != c.want {
			t.Errorf("%s with %q %q: asks for %s, want %s", c.remote, c.forwarded, c.standard, got, c.want)
		}
	}
}

// FuzzClientBehind checks two rules for any chain: an untrusted peer keeps its
// own address, and each result is an address from the input.
func FuzzClientBehind(f *testing.F) {
	f.Add("10.0.0.1", "1.1.1.1, 2.2.2.2", "")
	f.Add("10.0.0.1", "", `for="[2001:db8::7]:1";by=x, for=_a`)
	f.Add("192.0.2.1", "10.0.0.1, ,", "for=;;=,")
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	f.Fuzz(func(t *testing.T, peer, forwarded, standard string) {
		addr, err := netip.ParseAddr(peer)
		if err != nil {
			t.Skip()
		}
		got := clientBehind(proxies, addr, http.Header{"X-Forwarded-For": {forwarded}, "Forwarded": {standard}})
		if !got.IsValid() {
			t.Errorf("%s became an invalid address", peer)
		}
		if plain := addr.Unmap().WithZone(""); !proxies[0].Contains(plain) && got != plain {
			t.Errorf("%s became %s", peer, got)
		}
	})
}
