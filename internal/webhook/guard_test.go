package webhook

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

func prefixes(list ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, p := range list {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

// owning returns a function for Config.Own.
func owning(list ...string) func() *Own {
	var addrs []netip.AddrPort
	for _, a := range list {
		addrs = append(addrs, netip.MustParseAddrPort(a))
	}
	own := NewOwn(addrs)
	return func() *Own { return own }
}

// having returns a machine with these addresses.
func having(list ...string) *machine {
	return newMachine(func() ([]netip.Addr, error) { return addrs(list...), nil }, time.Now)
}

func TestSpecialAddressesAreClosedUntilTheFlagNamesThem(t *testing.T) {
	guard := NewGuard(Config{})
	for is, addrs := range map[string]string{ // "": open
		"": `1.1.1.1 8.8.8.8 93.184.216.34 172.15.255.255 172.32.0.1 100.63.255.255 100.128.0.1 169.253.255.255
			223.255.255.255 2606:4700:4700::1111 2a00:1450:4001:81b::200e ::ffff:1.1.1.1 2606:4700::5efe:1.1.1.1`,
		"loopback": "127.0.0.1 127.255.255.254 ::1 ::ffff:127.0.0.1 2606:4700::200:5efe:127.0.0.1",
		"special-purpose": `::127.0.0.1 ::ffff:0:127.0.0.1 64:ff9b::127.0.0.1 2002:7f00:1:: 0.1.2.3 100.64.0.1 100.127.255.255 192.0.0.1
			192.0.2.1 192.88.99.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 240.0.0.1 fec0::1 100::1
			2001:db8::1 3fff::1 5f00::1 2001::1 2002:102:304::1 64:ff9b::1.1.1.1 64:ff9b:1::1`,
		"private": `10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 192.168.255.255 ::ffff:10.0.0.1
			::ffff:192.168.1.1 fc00::1 fd12:3456:789a::1 fdff:ffff::1%eth0 2606:4700::5efe:10.0.0.1`,
		"link-local":              "169.254.0.1 169.254.255.254 fe80::1 fe80::1%eth0",
		"not a valid destination": "0.0.0.0 :: ::ffff:0.0.0.0 224.0.0.1 239.255.255.255 255.255.255.255 ff02::1",
		"metadata": `169.254.169.254 169.254.169.253 169.254.170.2 169.254.170.23 100.100.100.200 168.63.129.16 192.0.0.192
			fd00:ec2::254 fd00:ec2::23 fd20:ce::254 fd00:c1::a9fe:a9fe fd00:42::42 fe80::a9fe:a9fe%eth0
			::ffff:169.254.169.254 ::ffff:168.63.129.16 ::169.254.169.254 ::ffff:0:169.254.169.254
			64:ff9b::169.254.169.254 64:ff9b::a83f:8110 64:ff9b:1:a9fe:a9:fe00:: 2002:a9fe:a9fe::1 2002:a83f:8110::
			2001:0:4136:e378:8000:63bf:5601:5601 2a00:1450::a9fe:a9fe 169.254.169.252 169.254.129.2
			64:ff9b::169.254.130.1 fd00:a9fe:a9fe::1 fd00:100::100:200 169.254.0.23 169.254.42.42`,
	} {
		for text := range strings.FieldsSeq(addrs) {
			t.Run(text, func(t *testing.T) {
				addr := netip.AddrPortFrom(netip.MustParseAddr(text), 80)
				expect(t, guard.Verdict(addr), addr, is)
			})
		}
	}
}

func TestTheAllowFlagOpensExactlyTheNamedAddresses(t *testing.T) {
	// A translator's prefix opens the way, not the addresses behind it, and some
	// addresses stay closed under any prefix.
	for _, c := range []struct{ allow, is, addrs string }{
		{"10.0.0.0/8", "", "10.1.2.3 ::ffff:10.1.2.3"},
		{"10.0.0.0/8", "private", "192.168.1.1"},
		{"10.0.0.0/8", "loopback", "127.0.0.1"},
		{"10.9.9.9/8", "", "10.1.2.3"},
		{"::ffff:10.0.0.0/104", "", "10.1.2.3"},
		{"127.0.0.1/32", "", "127.0.0.1"},
		{"127.0.0.1/32", "loopback", "127.0.0.2"},
		{"::1/128", "", "::1"},
		{"fd00::/8", "", "fd12::1"},
		{"fe80::/10", "", "fe80::1%eth0"},
		{"100.64.0.0/10", "", "100.64.0.1"},
		{"64:ff9b::/96", "", "64:ff9b::1.1.1.1"},
		{"64:ff9b::/96", "private", "64:ff9b::10.0.0.1"},
		{"64:ff9b::/96 10.0.0.0/8", "", "64:ff9b::10.0.0.1"},
		{"64:ff9b::/96", "loopback", "64:ff9b::127.0.0.1"},
		{"64:ff9b::/96", "not a valid destination", "64:ff9b::0.0.0.0"},
		{"2002::/16", "private", "2002:a00:1::1"},
		{"2002::/16", "", "2002:101:101::1"},
		{"2001::/32", "special-purpose", "2001:0:4136:e378:8000:63bf:3fff:fdd2"},
		{"::/96", "loopback", "::127.0.0.1"},
		{"::ffff:0:0:0/96", "private", "::ffff:0:10.0.0.1"},
		{"64:ff9b:1::/48", "private", "64:ff9b:1::10.0.0.1 64:ff9b:1:a00:0:100:: 64:ff9b:1:a00:1:100:a00:1"},
		{"64:ff9b:1::/48", "", "64:ff9b:1::1.1.1.1 64:ff9b:1:101:1:100::"},
		{"fe80::/10", "private", "fe80::5efe:192.168.0.1"},
		{"0.0.0.0/0 ::/0", "", "10.0.0.1 127.0.0.1 169.254.0.1"},
		{"0.0.0.0/0 ::/0", "metadata", `169.254.169.254 100.100.100.200 168.63.129.16 fd00:ec2::254 64:ff9b::169.254.169.254
			64:ff9b:1:a9fe:a9:fe00:: 2002:a9fe:a9fe::1 ::ffff:169.254.169.254`},
		{"0.0.0.0/0 ::/0", "not a valid destination", "0.0.0.0 :: 255.255.255.255"},
		{"169.254.169.254/32", "metadata", "169.254.169.254"},
	} {
		for text := range strings.FieldsSeq(c.addrs) {
			t.Run(c.allow+" "+text, func(t *testing.T) {
				addr := netip.AddrPortFrom(netip.MustParseAddr(text), 80)
				expect(t, NewGuard(Config{Allow: prefixes(strings.Fields(c.allow)...)}).Verdict(addr), addr, c.is)
			})
		}
	}
}

func TestDeniedAddressesStayClosedIfTheyAreAllowedToo(t *testing.T) {
	everything := prefixes("0.0.0.0/0", "::/0")
	for _, c := range []struct {
		deny []netip.Prefix
		addr string
		is   string
	}{
		{prefixes("10.1.0.0/16"), "10.1.2.3", "10.1.0.0/16"},
		{prefixes("10.1.0.0/16"), "10.2.2.3", ""},
		{prefixes("10.1.0.0/16"), "::ffff:10.1.2.3", "10.1.0.0/16"},
		{prefixes("::ffff:10.1.0.0/112"), "10.1.2.3", "10.1.0.0/16"},
		{prefixes("10.1.0.0/16"), "64:ff9b::10.1.2.3", "10.1.0.0/16"},
		{prefixes("10.1.0.0/16"), "64:ff9b:1::10.1.2.3", "10.1.0.0/16"},
		{prefixes("10.1.0.0/16"), "2002:a01:203::", "10.1.0.0/16"},
		{prefixes("10.1.0.0/16"), "::10.1.2.3", "10.1.0.0/16"},
		{prefixes("10.1.0.0/16"), "2606:4700::5efe:10.1.2.3", "10.1.0.0/16"},
		{prefixes("93.184.216.0/24"), "93.184.216.34", "a public address"},
		{prefixes("93.184.216.34/32"), "93.184.216.35", ""},
		{prefixes("127.0.0.0/8"), "127.0.0.1", "loopback"},
		{prefixes("0.0.0.0/0"), "1.1.1.1", "a public address"},
		{prefixes("0.0.0.0/0"), "2606:4700::1111", ""},
		{prefixes("::/0"), "2606:4700::1111", "a public address"},
		{prefixes("::/0"), "1.1.1.1", ""},
		{prefixes("fe80::/10"), "fe80::1%eth0", "link-local"},
	} {
		t.Run(c.addr, func(t *testing.T) {
			addr := netip.AddrPortFrom(netip.MustParseAddr(c.addr), 80)
			expect(t, NewGuard(Config{Allow: everything, AllowLoopback: always, Deny: c.deny}).Verdict(addr), addr, c.is)
		})
	}
}

func TestLoopbackIsOpenOnlyIfTheConfigurationAllowsIt(t *testing.T) {
	for _, a := range []string{"127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"} {
		addr := netip.AddrPortFrom(netip.MustParseAddr(a), 9000)
		expect(t, NewGuard(Config{AllowLoopback: always}).Verdict(addr), addr, "")
		expect(t, NewGuard(Config{AllowLoopback: nil}).Verdict(addr), addr, "loopback")
	}
	addr := netip.MustParseAddrPort("10.0.0.1:80")
	expect(t, NewGuard(Config{AllowLoopback: always}).Verdict(addr), addr, "private")
}

func TestTheServersOwnAddressesAreAlwaysClosed(t *testing.T) {
	const self = "an address of this server"
	open := Config{AllowLoopback: always, Allow: prefixes("0.0.0.0/0", "::/0")}
	for _, c := range []struct {
		own  string
		addr string
		is   string
	}{
		{"127.0.0.1:8750", "127.0.0.1:8750", self},
		{"127.0.0.1:8750", "[::ffff:127.0.0.1]:8750", self},
		{"127.0.0.1:8750", "[64:ff9b::127.0.0.1]:8750", self},
		{"127.0.0.1:8750", "127.0.0.1:8751", ""},
		{"127.0.0.1:8750", "127.0.0.2:8750", ""},
		{"[::ffff:127.0.0.1]:8750", "127.0.0.1:8750", self},
		{"[::1]:8750", "[::1]:8750", self},
		{"10.0.0.7:6379", "10.0.0.7:6379", self},
		{"10.0.0.7:6379", "10.0.0.8:6379", ""},

		// A listener on every interface makes each address of the machine ours.
		{"0.0.0.0:8750", "127.0.0.1:8750", self},
		{"0.0.0.0:8750", "127.8.8.8:8750", self},
		{"[::]:8750", "[::1]:8750", self},
		{"[::]:8750", "127.0.0.1:8750", self},
		{"[::]:8750", "192.0.2.77:8750", self},
		{"[::]:8750", "[2001:db8::77]:8750", self},
		{"[::]:8750", "192.0.2.78:8750", ""},
		{"[::]:8750", "192.0.2.77:80", ""},
	} {
		t.Run(c.own+" "+c.addr, func(t *testing.T) {
			cfg := open
			cfg.Own = owning(c.own)
			guard := NewGuard(cfg)
			guard.machine = having("192.0.2.77", "2001:db8::77")
			addr := netip.MustParseAddrPort(c.addr)
			expect(t, guard.Verdict(addr), addr, c.is)
		})
	}
}

func TestTheMachinesOwnAddressesAreKnown(t *testing.T) {
	if m := NewGuard(Config{}).machine; !m.has(netip.MustParseAddr("127.0.0.1")) {
		t.Errorf("127.0.0.1 is not among %v", m.addrs)
	}
}

// expect checks that err denies addr as an address of kind is, and that the
// error names the address and the flag. If is is "", expect requires no error.
func expect(t *testing.T, err error, addr netip.AddrPort, is string) {
	t.Helper()
	if is == "" {
		if err != nil {
			t.Errorf("an open address is denied: %v", err)
		}
		return
	}
	var denied *egressDenied
	if !errors.As(err, &denied) {
		t.Fatalf("%v got %v, want it denied as %q", addr, err, is)
	}
	flag := allowFlag
	if denied.Closer.IsValid() {
		flag = denyFlag
	}
	if !strings.Contains(err.Error(), is) || !strings.Contains(err.Error(), flag) {
		t.Errorf("%q names not both %q and %s", err, is, flag)
	}
	if denied.Opener.IsValid() {
		reopened := NewGuard(Config{Allow: []netip.Prefix{denied.Opener}})
		if err := reopened.Verdict(denied.Addr); err != nil && len(carried(plain(denied.Addr.Addr()))) == 0 {
			t.Errorf("%v does not open its address: %v", denied.Opener, err)
		}
	}
}

// FuzzNoAddressFormAvoidsTheEgressGuard checks that for each closed IPv4
// address, each IPv6 address that stands for it is closed too, even if all of
// IPv6 is open.
func FuzzNoAddressFormAvoidsTheEgressGuard(f *testing.F) {
	for _, a := range []string{"127.0.0.1", "10.1.2.3", "169.254.169.254", "100.64.0.1", "198.51.100.7", "1.1.1.1", "0.0.0.0", "169.254.129.2"} {
		b := netip.MustParseAddr(a).As4()
		f.Add(b[0], b[1], b[2], b[3], uint16(0x2a00))
	}
	guard := NewGuard(Config{Allow: prefixes("::/0"), Deny: prefixes("198.51.100.0/24", "1.1.0.0/16")})
	f.Fuzz(func(t *testing.T, a, b, c, d byte, prefix uint16) {
		v4 := netip.AddrFrom4([4]byte{a, b, c, d})
		if guard.Verdict(netip.AddrPortFrom(v4, 80)) == nil {
			return
		}
		p, q := byte(prefix>>8), byte(prefix)
		carriers := [][16]byte{
			{10: 0xff, 11: 0xff, 12: a, 13: b, 14: c, 15: d},                          // mapped
			{8: 0xff, 9: 0xff, 12: a, 13: b, 14: c, 15: d},                            // translated
			{1: 0x64, 2: 0xff, 3: 0x9b, 12: a, 13: b, 14: c, 15: d},                   // NAT64
			{0: 0x20, 1: 0x02, 2: a, 3: b, 4: c, 5: d, 15: q},                         // 6to4
			{0: 0x20, 1: 0x01, 4: p, 5: q, 8: 0x80, 12: ^a, 13: ^b, 14: ^c, 15: ^d},   // Teredo
			{0: p, 1: q, 10: 0x5e, 11: 0xfe, 12: a, 13: b, 14: c, 15: d},              // ISATAP
			{0: p, 1: q, 8: 2, 10: 0x5e, 11: 0xfe, 12: a, 13: b, 14: c, 15: d},        // ISATAP
			{1: 0x64, 2: 0xff, 3: 0x9b, 5: 1, 6: p, 7: q, 12: a, 13: b, 14: c, 15: d}, // local NAT64, the last four bytes
			{1: 0x64, 2: 0xff, 3: 0x9b, 5: 1, 6: a, 7: b, 9: c, 10: d},                // local NAT64, after 48 bits
			{1: 0x64, 2: 0xff, 3: 0x9b, 5: 1, 6: p, 7: a, 9: b, 10: c, 11: d},         // after 56 bits
			{1: 0x64, 2: 0xff, 3: 0x9b, 5: 1, 6: p, 7: q, 9: a, 10: b, 11: c, 12: d},  // after 64 bits
		}
		for i, raw := range carriers {
			if i >= 7 && a == 0 {
				continue // in a local prefix zeros are padding
			}
			carrier := netip.AddrPortFrom(netip.AddrFrom16(raw), 80)
			if guard.Verdict(carrier) == nil {
				t.Errorf("%v is closed, and %v leads to it", v4, carrier)
			}
		}
	})
}

// A service on every interface trusts loopback and a public address of its own
// machine alike.
func TestAddressesOfThisMachineCountAsLoopback(t *testing.T) {
	const local = "an address of this machine"
	var open atomic.Bool
	guard := NewGuard(Config{AllowLoopback: open.Load, Allow: prefixes("64:ff9b::/96", "10.0.0.0/8")})
	guard.machine = having("93.184.216.34", "2606:4700::77", "10.1.2.3", "192.168.1.1", "169.254.169.254")
	for _, c := range []struct{ addr, closed, opened string }{
		{"93.184.216.34:22", local, ""},
		{"93.184.216.34:443", local, ""},
		{"[::ffff:93.184.216.34]:22", local, ""},
		{"[64:ff9b::93.184.216.34]:22", local, ""},
		{"[2606:4700::77]:9100", local, ""},
		{"[2606:4700::77%eth0]:9100", local, ""},
		{"192.168.1.1:80", local, ""},
		{"93.184.216.35:22", "", ""},
		{"[2606:4700::78]:9100", "", ""},
		{"10.1.2.3:80", "", ""}, // a prefix of Allow contains it
		{"169.254.169.254:80", "metadata", "metadata"},
	} {
		addr := netip.MustParseAddrPort(c.addr)
		open.Store(false)
		is := guard.Verdict(addr)
		if (is == nil) != (c.closed == "") || is != nil && !strings.Contains(is.Error(), c.closed) {
			t.Errorf("%s: got %v, want %q", c.addr, is, c.closed)
		}
		open.Store(true)
		is = guard.Verdict(addr)
		if (is == nil) != (c.opened == "") || is != nil && !strings.Contains(is.Error(), c.opened) {
			t.Errorf("%s while loopback is open: got %v, want %q", c.addr, is, c.opened)
		}
	}
}

func TestANewAddressOfThisMachineIsClosedWithinASecond(t *testing.T) {
	now, reads, list := time.Unix(1_800_000_000, 0), 0, addrs("127.0.0.1")
	guard := NewGuard(Config{})
	guard.machine = newMachine(func() ([]netip.Addr, error) { reads++; return list, nil }, func() time.Time { return now })
	moving := netip.MustParseAddrPort("93.184.216.34:22")
	for range 1000 {
		fatal.If(t, guard.Verdict(moving))
	}
	if reads != 1 {
		t.Fatalf("1000 verdicts within a second read the interfaces %d times", reads)
	}
	list = addrs("127.0.0.1", "93.184.216.34")
	now = now.Add(interfacesAge)
	if guard.Verdict(moving) == nil {
		t.Error("the address has come to this machine and is open")
	}
	list = addrs("127.0.0.1")
	now = now.Add(interfacesAge)
	if err := guard.Verdict(moving); err != nil {
		t.Errorf("the address has left this machine: %v", err)
	}
	if reads != 3 {
		t.Errorf("the interfaces were read %d times in two seconds", reads)
	}
}

func TestIfInterfacesCannotBeReadTheirLastAddressesStay(t *testing.T) {
	now, fails := time.Unix(1_800_000_000, 0), false
	m := newMachine(func() ([]netip.Addr, error) {
		if fails {
			return nil, errors.New("no descriptor left")
		}
		return addrs("93.184.216.34"), nil
	}, func() time.Time { return now })
	fails, now = true, now.Add(interfacesAge)
	if !m.has(netip.MustParseAddr("93.184.216.34")) {
		t.Error("the address is forgotten")
	}
}

// No configuration opens them. An address that is added later is closed from
// then on.
func TestOwnAddressesAreDeniedInEverySpelling(t *testing.T) {
	var own atomic.Pointer[Own]
	guard := NewGuard(Config{AllowLoopback: always, Allow: prefixes("0.0.0.0/0", "::/0"), Own: own.Load})
	closed := []string{
		"10.0.0.7:6379", "[::ffff:10.0.0.7]:6379", "[::ffff:a00:7]:6379", "[64:ff9b::10.0.0.7]:6379", "[2002:a00:7::1]:6379",
		"[2a00:1450:1:2:3:4:a00:7]:6379", "[::10.0.0.7]:6379", "[fd00::7]:26379", "[fd00::7%eth0]:26379",
	}
	verdicts := func(want bool) {
		t.Helper()
		for _, a := range closed {
			if err := guard.Verdict(netip.MustParseAddrPort(a)); (err != nil) != want {
				t.Errorf("%s: closed %v, want %v: %v", a, err != nil, want, err)
			}
		}
	}
	verdicts(false)
	own.Store(owning("[::ffff:10.0.0.7]:6379", "[fd00::7]:26379")())
	verdicts(true)
	for _, a := range []string{"10.0.0.7:6380", "10.0.0.8:6379", "[fd00::7]:6379"} {
		if err := guard.Verdict(netip.MustParseAddrPort(a)); err != nil {
			t.Errorf("%s is another server: %v", a, err)
		}
	}
}

// FuzzNoAddressFormReachesOwnAddresses checks that no translator that an
// operator opens leads to one of our addresses.
func FuzzNoAddressFormReachesOwnAddresses(f *testing.F) {
	f.Add(byte(10), byte(0), byte(0), byte(7), uint64(0x2a00_1450_0000_0000), uint16(6379))
	f.Add(byte(93), byte(184), byte(216), byte(34), uint64(0x64_ff9b_0001_0000), uint16(443))
	f.Fuzz(func(t *testing.T, a, b, c, d byte, prefix uint64, port uint16) {
		v4 := netip.AddrFrom4([4]byte{a, b, c, d})
		guard := NewGuard(Config{AllowLoopback: always, Allow: prefixes("0.0.0.0/0", "::/0"), Own: func() *Own { return NewOwn([]netip.AddrPort{netip.AddrPortFrom(v4, port)}) }})
		guard.machine = having()
		for i, at := range embeddings {
			var raw [16]byte
			binary.BigEndian.PutUint64(raw[:], prefix)
			for n, place := range at {
				raw[place] = v4.As4()[n]
			}
			carrier := netip.AddrPortFrom(netip.AddrFrom16(raw), port)
			if guard.Verdict(carrier) == nil && !v4.IsUnspecified() {
				t.Errorf("embedding %d: %v is ours, and %v leads to it", i, v4, carrier)
			}
		}
	})
}

// A server that listens on all addresses at port 443 calls receivers at that
// port. Their IPv6 addresses have arbitrary bytes at the positions of a
// translator.
func TestAPublicAddressIsOwnOnlyIfItReachesThisServer(t *testing.T) {
	for _, own := range []string{"0.0.0.0:443", "[::]:443"} {
		guard := NewGuard(Config{Own: owning(own), Allow: prefixes("64:ff9b::/96")})
		guard.machine = having("127.0.0.1", "192.0.2.77")
		for _, a := range []string{
			"2606:4700:4700::1111", "2a00:1450:4001:81b::200e", "2a00:7f12:4001::1", "2a00:147f:3:4::1", "2606:4700:7f12::6816:1",
			"2606:4700:127f:300:1:200::1", "2606:4700:0:1:7f:100:2::", "2606:4700::6812:7f05:1",
		} {
			if err := guard.Verdict(netip.AddrPortFrom(netip.MustParseAddr(a), 443)); err != nil {
				t.Errorf("%s listens: %v", own, err)
			}
		}
		for _, a := range []string{"::1", "127.8.8.8", "192.0.2.77", "64:ff9b::127.8.8.8", "64:ff9b::192.0.2.77", "2a00:1450:1:2:3:4:192.0.2.77", "2a00:1450:1:2:3:4:127.0.0.1"} {
			addr := netip.AddrPortFrom(netip.MustParseAddr(a), 443)
			expect(t, guard.Verdict(addr), addr, ownKind)
		}
	}
}
