package webhook

import (
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/foliot/foliot/internal/task"
)

// errNoConnect stops dials that the guard permits, so that no test connects to
// the internet.
var errNoConnect = errors.New("not connected, for the test")

// stopped returns a Sender whose dials stop just before they connect, and the
// addresses at which they stopped.
func stopped(t *testing.T, cfg Config, answer names) (*Sender, func() []string) {
	s := New(cfg)
	t.Cleanup(s.Close)
	var (
		mu      sync.Mutex // guards reached
		reached []string
	)
	s.dialer.Resolver = answer.resolver()
	s.dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
		mu.Lock()
		defer mu.Unlock()
		reached = append(reached, address)
		return errNoConnect
	}
	return s, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(reached)
	}
}

// TestTheEgressGuardAllowsAndDeniesTheRightAddresses covers the whole way from
// a task's URL to the moment before the connect. The resolver decides about
// hosts of digits (some read 0x7f.1 as 127.0.0.1); every result is judged.
func TestTheEgressGuardAllowsAndDeniesTheRightAddresses(t *testing.T) {
	const (
		loopback  = "a loopback address"
		private   = "a private address"
		linkLocal = "a link-local address"
		special   = "a special-purpose address"
		metadata  = "a cloud metadata address"
		nowhere   = "not a valid destination"
		own       = "an address of this server"
		closed    = DenyFlag
		open      = ""

		unresolved = "cannot resolve" // by Go's own resolver
	)
	cfg := Config{
		Allow: prefixes("10.20.0.0/16", "fd20:0:0:1::/64", "64:ff9b::/96"),
		Deny:  prefixes("10.20.30.0/24", "198.51.100.0/24", "93.184.215.0/24", "2606:4700:bad::/48"),
		Own:   owning("10.20.0.1:8750", "93.184.216.99:8750"),
	}
	// Hosts of tasks, at port 80 unless they have a port. After a name and "="
	// comes the address to which it resolves.
	for _, c := range []struct{ host, is string }{
		{"93.184.216.34", open},
		{"example.test=93.184.216.34", open},
		{"[2606:4700:4700::1111]", open},
		{"[::ffff:93.184.216.34]", open},
		{"[::ffff:5db8:d822]", open},
		{"[64:ff9b::5db8:d822]", open},
		{"10.20.0.2", open},
		{"10.20.0.1", open}, // our address, on another port
		{"[fd20:0:0:1::7]", open},

		// Loopback.
		{"127.0.0.1", loopback},
		{"[::1]", loopback},
		{"[0:0:0:0:0:0:0:1]", loopback},
		{"[::ffff:127.0.0.1]", loopback},
		{"[::ffff:7f00:1]", loopback},
		{"[0:0:0:0:0:ffff:7f00:0001]", loopback},
		{"[::127.0.0.1]", special},
		{"[::7f00:1]", special},
		{"[::ffff:0:127.0.0.1]", special},
		{"[64:ff9b::127.0.0.1]", loopback},
		{"[64:ff9b:1::7f00:1]", special},
		{"[2002:7f00:1::1]", special},
		{"[2001:0:4136:e378:8000:63bf:80ff:fffe]", special}, // Teredo, 127.0.0.1 with inverted bits
		{"[2606:4700::5efe:127.0.0.1]", loopback},           // ISATAP
		{"localhost=127.0.0.1", loopback},
		{"LOCALHOST.=127.0.0.1", loopback},
		{"inside.test=127.0.0.1", loopback},
		{"inside.test=127.0.0.53", loopback},

		// Spellings of IPv4 that some resolvers accept; see the next test.
		{"0177.0.0.1=127.0.0.1", unresolved},
		{"0x7f.0.0.1=127.0.0.1", loopback},
		{"0x7f000001=127.0.0.1", loopback},
		{"0x7F.1=127.0.0.1", loopback},
		{"2130706433=127.0.0.1", unresolved},
		{"017700000001=127.0.0.1", unresolved},
		{"127.1=127.0.0.1", unresolved},
		{"127.0.1=127.0.0.1", unresolved},
		{"1.1=93.184.216.34", unresolved},
		{"0xa9fea9fe=169.254.169.254", metadata},
		{"2852039166=127.0.0.1", unresolved},
		{"0251.0376.0251.0376=127.0.0.1", unresolved},
		{"169.254.43518=127.0.0.1", unresolved},
		{"0=127.0.0.1", unresolved},

		// Private and special networks.
		{"10.0.0.1", private},
		{"[::ffff:10.0.0.1]", private},
		{"[::ffff:c0a8:1]", private},
		{"[64:ff9b::10.0.0.1]", private},
		{"[2606:4700::200:5efe:192.168.1.1]", private},
		{"[fd20:0:0:2::7]", private}, // next to the prefix that is allowed
		{"169.254.1.1", linkLocal},
		{"[fe80::1]", linkLocal},
		{"100.64.0.1", special},
		{"192.0.0.8", special},
		{"[2002:5db8:d822::1]", special},
		{"[2001:0:4136:e378:8000:63bf:a247:27dd]", special}, // Teredo of a public address
		{"intranet.test=10.1.2.3", private},
		{"both.test=10.1.2.3,192.168.0.1", private},

		// Invalid destinations.
		{"0.0.0.0", nowhere},
		{"[::]", nowhere},
		{"[::ffff:0.0.0.0]", nowhere},

		// Metadata of the clouds.
		{"169.254.169.254", metadata},
		{"[fd00:ec2::254]", metadata},
		{"[fe80::a9fe:a9fe]", metadata},
		{"[::ffff:169.254.169.254]", metadata},
		{"[::ffff:a9fe:a9fe]", metadata},
		{"[64:ff9b::169.254.169.254]", metadata},
		{"[64:ff9b:1::a9fe:a9fe]", metadata},
		{"[2a00:1450::5efe:169.254.169.254]", metadata},
		{"[2a00:1450::a83f:8110]", metadata},
		{"metadata.google.internal=169.254.169.254", metadata},
		{"nip.test=168.63.129.16", metadata},

		// Our own addresses, and those that the configuration closes.
		{"10.20.0.1:8750", own},
		{"[::ffff:10.20.0.1]:8750", own},
		{"[64:ff9b::93.184.216.99]:8750", own},
		{"93.184.216.99:8750", own},
		{"api.test:8750=10.20.0.1", own},
		{"10.20.30.40", closed},
		{"[::ffff:10.20.30.40]", closed},
		{"[64:ff9b::10.20.30.40]", closed},
		{"93.184.215.1", closed},
		{"198.51.100.7", closed},
		{"[2606:4700:bad::1]", closed},
		{"closed.test=93.184.215.1", closed},
	} {
		t.Run(c.host, func(t *testing.T) {
			host, answer, named := strings.Cut(c.host, "=")
			s, reached := stopped(t, cfg, func(string) []netip.Addr {
				if !named {
					return nil
				}
				return addrs(strings.Split(answer, ",")...)
			})
			o := s.Deliver(t.Context(), delivery(t, "http://"+host+"/"))
			switch {
			case c.is == open && (o.Verdict != task.Failure || len(reached()) == 0):
				t.Errorf("it is open, but: %+v", o)
			case c.is == unresolved && (o.Verdict != task.Failure || !strings.Contains(o.Error, unresolved)):
				t.Errorf("it has no address, but: %+v", o)
			case c.is != open && c.is != unresolved && (!denied(o) || !strings.Contains(o.Detail, c.is)):
				t.Errorf("it is %s, but: %+v", c.is, o)
			case c.is != open && len(reached()) > 0:
				t.Errorf("it would have connected to %v", reached())
			}
		})
	}
}

// The C library's resolver accepts numbers in any base. The test uses a process
// of its own, because the resolver is chosen at the start of a process.
func TestUnusualSpellingsOfAddressesAreCheckedAsTheSystemResolvesThem(t *testing.T) {
	if !inChild(t, "GODEBUG=netdns=cgo") {
		return
	}
	read := 0
	for _, host := range []string{
		"0177.0.0.1", "0x7f.0.0.1", "0x7f000001", "0X7F.1", "2130706433", "017700000001", "127.1", "127.0.1", "0x7f.1",
		"0", "0x0", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.43518", "0xa9.0xfe.43518", "10.1", "0xa000001",
	} {
		s, reached := stopped(t, Config{}, nil)
		s.dialer.Resolver = nil
		o := s.Deliver(t.Context(), delivery(t, "http://"+host+"/"))
		switch {
		case len(reached()) > 0:
			t.Errorf("%s would have connected to %v", host, reached())
		case denied(o):
			read++
		case !strings.Contains(o.Error, "cannot resolve"): // no C library in this build, or a strict one
			t.Errorf("%s: %+v", host, o)
		}
	}
	t.Logf("the system made addresses of %d of them", read)
}

// A record from elsewhere may contain a zone; validation refuses zones.
func TestAnIPv6ZoneOpensNoDeniedAddress(t *testing.T) {
	for _, host := range []string{"fe80::1%eth0", "::1%lo", "fd12::1%eth0", "::ffff:127.0.0.1%eth0", "fe80::a9fe:a9fe%eth0"} {
		s, reached := stopped(t, Config{}, func(string) []netip.Addr { return nil })
		_, err := s.dialer.DialContext(t.Context(), "tcp", "["+host+"]:80")
		if err == nil || !strings.Contains(err.Error(), "egress denied") || len(reached()) > 0 {
			t.Errorf("%s: %v, reached %v", host, err, reached())
		}
	}
}

// The address of a name may change between two attempts, and even within one
// attempt. The address of the connect counts.
func TestEachAddressOfAResolverIsChecked(t *testing.T) {
	asked := 0
	s, reached := stopped(t, Config{}, func(string) []netip.Addr {
		if asked++; asked == 1 {
			return addrs("93.184.216.34")
		}
		return addrs("127.0.0.1")
	})
	for i, want := range []bool{false, true, true} {
		if o := s.Deliver(t.Context(), delivery(t, "http://rebind.test/")); denied(o) != want {
			t.Errorf("attempt %d: %+v", i+1, o)
		}
	}
	if got := reached(); !slices.Equal(got, []string{"93.184.216.34:80"}) {
		t.Errorf("it would have connected to %v", got)
	}
}

func TestAReceiverOfAPrivateAuthorityIsTrustedIfTheServerKnowsTheAuthority(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	authorities := x509.NewCertPool()
	authorities.AddCert(server.Certificate())
	if o := newSender(t, Config{Authorities: authorities}).Deliver(t.Context(), delivery(t, server.URL)); o.Verdict != task.Success {
		t.Errorf("got %+v", o)
	}
}
