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
		closed    = denyFlag
		open      = ""

		unresolved = "cannot resolve" // by Go's own resolver
	)
	cfg := Config{
		Allow: prefixes("10.20.0.0/16", "fd20:0:0:1::/64", "64:ff9b::/96"),
		Deny:  prefixes("10.20.30.0/24", "198.51.100.0/24", "93.184.215.0/24", "2606:4700:bad::/48"),
		Own:   owning("10.20.0.1:8750", "93.184.216.99:8750"),
	}
	// Hosts of tasks, at port 80 unless they have a port. After a name and "="
	// comes the address to which it resolves. Loopback, private and metadata
	// addresses come in IPv4 spellings of resolvers, mapped, translated, 6to4,
	// ISATAP and Teredo. 10.20.0.1 is our address, but open on another port.
	for is, hosts := range map[string]string{
		open: `93.184.216.34 example.test=93.184.216.34 [2606:4700:4700::1111] [::ffff:93.184.216.34] [::ffff:5db8:d822]
			[64:ff9b::5db8:d822] 10.20.0.2 10.20.0.1 [fd20:0:0:1::7]`,
		loopback: `127.0.0.1 [::1] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:7f00:0001]
			[64:ff9b::127.0.0.1] [2606:4700::5efe:127.0.0.1] localhost=127.0.0.1 LOCALHOST.=127.0.0.1
			inside.test=127.0.0.1 inside.test=127.0.0.53 0x7f.0.0.1=127.0.0.1 0x7f000001=127.0.0.1 0x7F.1=127.0.0.1`,
		special: `[::127.0.0.1] [::7f00:1] [::ffff:0:127.0.0.1] [64:ff9b:1::7f00:1] [2002:7f00:1::1]
			[2001:0:4136:e378:8000:63bf:80ff:fffe] 100.64.0.1 192.0.0.8 [2002:5db8:d822::1]
			[2001:0:4136:e378:8000:63bf:a247:27dd]`,
		unresolved: `0177.0.0.1=127.0.0.1 2130706433=127.0.0.1 017700000001=127.0.0.1 127.1=127.0.0.1 127.0.1=127.0.0.1
			1.1=93.184.216.34 2852039166=127.0.0.1 0251.0376.0251.0376=127.0.0.1 169.254.43518=127.0.0.1 0=127.0.0.1`,
		metadata: `0xa9fea9fe=169.254.169.254 169.254.169.254 [fd00:ec2::254] [fe80::a9fe:a9fe] [::ffff:169.254.169.254]
			[::ffff:a9fe:a9fe] [64:ff9b::169.254.169.254] [64:ff9b:1::a9fe:a9fe] [2a00:1450::5efe:169.254.169.254]
			[2a00:1450::a83f:8110] metadata.google.internal=169.254.169.254 nip.test=168.63.129.16`,
		private: `10.0.0.1 [::ffff:10.0.0.1] [::ffff:c0a8:1] [64:ff9b::10.0.0.1] [2606:4700::200:5efe:192.168.1.1]
			[fd20:0:0:2::7] intranet.test=10.1.2.3 both.test=10.1.2.3,192.168.0.1`,
		linkLocal: "169.254.1.1 [fe80::1]",
		nowhere:   "0.0.0.0 [::] [::ffff:0.0.0.0]",
		own: `10.20.0.1:8750 [::ffff:10.20.0.1]:8750 [64:ff9b::93.184.216.99]:8750 93.184.216.99:8750
			api.test:8750=10.20.0.1`,
		closed: `10.20.30.40 [::ffff:10.20.30.40] [64:ff9b::10.20.30.40] 93.184.215.1 198.51.100.7 [2606:4700:bad::1]
			closed.test=93.184.215.1`,
	} {
		for text := range strings.FieldsSeq(hosts) {
			t.Run(text, func(t *testing.T) {
				host, answer, named := strings.Cut(text, "=")
				s, reached := stopped(t, cfg, func(string) []netip.Addr {
					if !named {
						return nil
					}
					return addrs(strings.Split(answer, ",")...)
				})
				o := s.Deliver(t.Context(), delivery(t, "http://"+host+"/"))
				switch {
				case is == open && (o.Verdict != task.Failure || len(reached()) == 0):
					t.Errorf("it is open, but: %+v", o)
				case is == unresolved && (o.Verdict != task.Failure || !strings.Contains(o.Error, unresolved)):
					t.Errorf("it has no address, but: %+v", o)
				case is != open && is != unresolved && (!denied(o) || !strings.Contains(o.Detail, is)):
					t.Errorf("it is %s, but: %+v", is, o)
				case is != open && len(reached()) > 0:
					t.Errorf("it would have connected to %v", reached())
				}
			})
		}
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
