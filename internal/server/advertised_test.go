package server

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/webhook"
)

func TestAServerAdvertisesItsListener(t *testing.T) {
	for given, want := range map[string]string{"127.0.0.1:80": "127.0.0.1:80", "[::1]:80": "[::1]:80"} {
		at, err := net.ResolveTCPAddr("tcp", given)
		fatal.If(t, err)
		if got := advertised(at); got != want {
			t.Errorf("%s: %s", given, got)
		}
	}
	if got := advertised(&net.TCPAddr{IP: net.IPv6unspecified, Port: 80}); strings.HasPrefix(got, "[::]") || !strings.HasSuffix(got, ":80") {
		t.Error(got)
	}
}

// The other servers close these addresses for their tasks. They may be unable
// to resolve the machine's name.
func TestAServerOnAllAddressesAdvertisesEachOfThem(t *testing.T) {
	machine, err := webhook.InterfaceAddrs()
	fatal.If(t, err)
	for _, all := range []net.IP{net.IPv4zero, net.IPv6zero} {
		apis := apisOf(&net.TCPAddr{IP: all, Port: 8750})
		for _, a := range machine {
			if at := netip.AddrPortFrom(a, 8750).String(); slices.Contains(apis, at) != a.IsGlobalUnicast() {
				t.Errorf("a server at %v advertises %v, about %s", all, apis, at)
			}
		}
	}
	if apis := apisOf(&net.TCPAddr{IP: net.IPv4(10, 0, 0, 5), Port: 8750}); apis != nil {
		t.Errorf("a server at one address also advertises %v", apis)
	}
}
