package outgoing

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/webhook"
)

// closedBy reports whether the set closes addr, although all other rules open
// it.
func closedBy(o *ownAddresses, addr string) bool {
	guard := webhook.NewGuard(webhook.Config{
		AllowLoopback: func() bool { return true },
		Allow:         []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")},
		Own:           o.set.Load,
	})
	return guard.Verdict(netip.MustParseAddrPort(addr)) != nil
}

func TestOwnAddressesFollowFailoversAndNames(t *testing.T) {
	parts := []string{"10.0.0.1:6379", "redis.internal:6379", ":1", "nonsense", "[::1]:0", "host:"}
	names := map[string]string{"redis.internal": "10.0.0.2"}
	lookups := 0
	o := newOwnAddresses(slog.New(slog.DiscardHandler), []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:8750")}, func() []string { return parts })
	o.lookup = func(_ context.Context, _, host string) ([]netip.Addr, error) {
		lookups++
		if names[host] == "" {
			return nil, errors.New("the resolver is away")
		}
		return []netip.Addr{netip.MustParseAddr(names[host])}, nil
	}
	now := time.Unix(1_800_000_000, 0)
	check := func(after time.Duration, what string, want map[string]bool) {
		t.Helper()
		now = now.Add(after)
		o.refresh(t.Context(), now)
		for addr, closed := range want {
			if got := closedBy(o, addr); got != closed {
				t.Errorf("%s: %s is closed: %v, want %v", what, addr, got, closed)
			}
		}
	}
	check(0, "at the start", map[string]bool{
		"127.0.0.1:8750": true, "10.0.0.1:6379": true, "[::ffff:10.0.0.1]:6379": true, "10.0.0.2:6379": true, "10.0.0.3:6379": false, "10.0.0.1:80": false,
	})
	parts = []string{"10.0.0.3:6379", "redis.internal:6379", "[fd00::3]:6379"}
	check(ownEvery, "after a failover", map[string]bool{"10.0.0.3:6379": true, "[fd00::3]:6379": true, "10.0.0.1:6379": true})
	names["redis.internal"] = "10.0.0.4"
	check(ownNameEvery, "when the name has another address", map[string]bool{"10.0.0.4:6379": true, "10.0.0.2:6379": true})
	if lookups != 2 {
		t.Errorf("the name was looked up %d times within %v", lookups, ownNameEvery)
	}
	delete(names, "redis.internal")
	check(2*ownKeep, "much later, while the resolver is away", map[string]bool{
		"10.0.0.4:6379": true, "10.0.0.3:6379": true, "10.0.0.1:6379": false, "10.0.0.2:6379": false, "127.0.0.1:8750": true,
	})
}

// The URL of the store has only one of the addresses that a Redis listens on.
func TestAServiceOnThisMachineIsClosedAtEachOfItsAddresses(t *testing.T) {
	machine, err := webhook.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	machine = append(machine, netip.MustParseAddr("10.0.0.5"))
	parts := []string{"127.0.0.1:6379", "10.0.0.5:4318", "10.0.0.6:26379", "127.0.0.1:8750"}
	o := newOwnAddresses(slog.New(slog.DiscardHandler), []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:8750")}, func() []string { return parts })
	o.machine = func() ([]netip.Addr, error) { return machine, nil }
	o.refresh(t.Context(), time.Unix(1_800_000_000, 0))
	for _, a := range machine {
		if a.IsLoopback() || a.String() == "10.0.0.5" {
			continue
		}
		if addr := netip.AddrPortFrom(a, 6379).String(); !closedBy(o, addr) {
			t.Errorf("the store at 127.0.0.1 is reached at %s", addr)
		}
	}
	for addr, closed := range map[string]bool{
		"127.0.0.1:6379": true, "[::1]:6379": true, "127.0.0.2:6379": true, "127.0.0.1:4318": true, "10.0.0.5:4318": true,
		"127.0.0.1:26379": false, "127.0.0.1:80": false, // no service runs there
		"127.0.0.1:8750": true, "127.0.0.2:8750": false, // the server knows its own listener
	} {
		if got := closedBy(o, addr); got != closed {
			t.Errorf("%s is closed: %v, want %v", addr, got, closed)
		}
	}
}

// A sandbox may keep the server from reading the addresses.
func TestAServerThatCannotReadItsAddressesLogsIt(t *testing.T) {
	j := servertest.NewJournal()
	o := newOwnAddresses(j.Logger(), nil, func() []string { return []string{"127.0.0.1:6379"} })
	now, refused := time.Unix(1_800_000_000, 0), errors.New("address family not supported by protocol")
	for i, is := range []error{refused, refused, nil, refused} {
		o.machine = func() ([]netip.Addr, error) { return nil, is }
		o.refresh(t.Context(), now.Add(time.Duration(i)*ownEvery))
		if !closedBy(o, "127.0.0.2:6379") {
			t.Error("the store is open")
		}
	}
	if said := strings.Count(j.String(), "level=WARN"); said != 2 || !strings.Contains(j.String(), "AF_NETLINK") {
		t.Errorf("it was said %d times, want 2:\n%s", said, j)
	}
}
