package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/webhook"
)

// closedBy reports whether the set closes addr, though all else is open.
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
	check(2*ownLinger, "much later, while the resolver is away", map[string]bool{
		"10.0.0.4:6379": true, "10.0.0.3:6379": true, "10.0.0.1:6379": false, "10.0.0.2:6379": false, "127.0.0.1:8750": true,
	})
}

// TestAPartOnThisMachineIsClosedAtEachOfItsAddresses: the store's URL names one of
// the addresses that a Redis listens on.
func TestAPartOnThisMachineIsClosedAtEachOfItsAddresses(t *testing.T) {
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
		"127.0.0.1:26379": false, "127.0.0.1:80": false, // no part is there
		"127.0.0.1:8750": true, "127.0.0.2:8750": false, // the server knows where it listens
	} {
		if got := closedBy(o, addr); got != closed {
			t.Errorf("%s is closed: %v, want %v", addr, got, closed)
		}
	}
}

// TestAServerOnAllAddressesTellsTheOthersEachOfThem: they close these for their tasks,
// and the machine's name may mean nothing to them.
func TestAServerOnAllAddressesTellsTheOthersEachOfThem(t *testing.T) {
	machine, err := webhook.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, all := range []net.IP{net.IPv4zero, net.IPv6zero} {
		told := apisOf(&net.TCPAddr{IP: all, Port: 8750})
		for _, a := range machine {
			if at := netip.AddrPortFrom(a, 8750).String(); slices.Contains(told, at) != a.IsGlobalUnicast() {
				t.Errorf("a server at %v tells %v of %s", all, told, at)
			}
		}
	}
	if told := apisOf(&net.TCPAddr{IP: net.IPv4(10, 0, 0, 5), Port: 8750}); told != nil {
		t.Errorf("a server at one address tells %v too", told)
	}
}

// TestAServerThatCannotReadItsAddressesSaysSo: a sandbox may keep it from that.
func TestAServerThatCannotReadItsAddressesSaysSo(t *testing.T) {
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

func TestTheCollectorsAddressIsOwn(t *testing.T) {
	for otlp, want := range map[string]string{
		"": "", "http://127.0.0.1:4318": "127.0.0.1:4318", "https://otel.example/v1": "otel.example:443", "http://[fd00::1]": "[fd00::1]:80",
	} {
		c := serveConfig{otlp: otlp}
		if got := strings.Join(c.collectorAddr(), " "); got != want {
			t.Errorf("%q: %q, want %q", otlp, got, want)
		}
	}
}

func TestDoctorEgressKnowsTheStoreAndTheCollector(t *testing.T) {
	for _, args := range []string{
		"http://10.0.0.7:6379/ --egress-allow 10.0.0.0/8 --store redis://10.0.0.7:6379",
		"http://10.0.0.8:26379/ --egress-allow 10.0.0.0/8 --store redis+sentinel://10.0.0.7:26379,10.0.0.8:26379/main",
		"http://10.0.0.9:4318/ --egress-allow 10.0.0.0/8 --otlp-endpoint http://10.0.0.9:4318",
	} {
		if code, out, _ := egress(t, strings.Fields(args)...); code != exitDenied || !strings.Contains(out, "this server itself") {
			t.Errorf("%s: exit %d, %s", args, code, out)
		}
	}
}

// TestNoTaskReachesAPartOfTheServer opens every range to tasks, and calls the
// store, a replica that follows it, the other node's API and the collector.
func TestNoTaskReachesAPartOfTheServer(t *testing.T) {
	r := redistest.New(t)
	replica := redistest.NewReplica(t, r.Addr)
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer collector.Close()
	hook := servertest.NewReceiver(t)
	hook.Release()
	args := []string{"--egress-allow", "0.0.0.0/0", "--egress-allow", "::/0", "--otlp-endpoint", collector.URL}
	a := redisNode(t, "redis://"+r.Addr, args...)
	b := redisNode(t, "redis://"+strings.Replace(r.Addr, "127.0.0.1", "localhost", 1), args...)
	until := time.Now().Add(servertest.Patience)
	for _, c := range []struct{ name, addr string }{
		{"store", r.Addr}, {"replica", replica.Addr}, {"collector", strings.TrimPrefix(collector.URL, "http://")},
		{"api-a", strings.TrimPrefix(a.url, "http://")}, {"api-b", strings.TrimPrefix(b.url, "http://")},
	} {
		host, port, err := net.SplitHostPort(c.addr)
		if err != nil {
			t.Fatal(err)
		}
		for i, spelling := range []string{host, "[::ffff:" + host + "]", "localhost"} {
			for try := 0; ; try++ { // a part that a node has to discover is closed a second later
				name := fmt.Sprint(c.name, i, "-", try)
				a.must("add", "http://"+spelling+":"+port+"/v1/tasks", "--in", "0s", "--name", name, "--max-attempts", "1")
				_, _, _ = a.foliot("get", name, "--wait")
				got := a.task(name)
				if got.State == "dead" && len(got.Attempts) == 1 && strings.Contains(got.Attempts[0].Error, "egress") {
					break
				}
				if time.Now().After(until) {
					t.Errorf("%s at %s:%s is %s: %+v", c.name, spelling, port, got.State, got.Attempts)
					break
				}
			}
		}
	}
	a.must("add", hook.URL, "--in", "0s", "--name", "elsewhere")
	if name := hook.Next(t); name != "elsewhere" {
		t.Errorf("%q arrived", name)
	}
}
