package node

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/webhook"
)

const (
	ownEvery     = time.Second      // how often the parts of the server are listed
	ownNameEvery = 10 * time.Second // how often a name among them is resolved
	ownNameTime  = 3 * time.Second  // how long that may take

	// ownLinger is how long an address stays closed after the last list that had
	// it: a master that failed over comes back, and a name with many addresses
	// gives some of them at a time.
	ownLinger = 10 * time.Minute
)

// OwnAddresses are the addresses of the server's own parts, which tasks must
// not reach: its API, its store, the other nodes, the collector. They change:
// a failover brings another master, a name gets another address.
//
// run owns the goroutine that keeps the set. Any goroutine may read the set.
type OwnAddresses struct {
	fixed   []netip.AddrPort
	sources []func() []string // each returns host:port of parts; they may name one several times
	lookup  func(ctx context.Context, network, host string) ([]netip.Addr, error)
	machine func() ([]netip.Addr, error) // the addresses of this machine
	log     *slog.Logger

	Set atomic.Pointer[webhook.Own] // the goroutine of run writes it

	// The rest belongs to the goroutine of run.
	names map[string]resolution
	seen  map[netip.AddrPort]time.Time // when it was listed last
	blind bool                         // the addresses of this machine cannot be read; the log says so
}

// resolution is the result of resolving a name.
type resolution struct {
	addrs []netip.Addr
	at    time.Time // when the name was looked up last
}

// NewOwnAddresses returns the set of fixed and of the sources' addresses.
func NewOwnAddresses(log *slog.Logger, fixed []netip.AddrPort, sources ...func() []string) *OwnAddresses {
	return &OwnAddresses{
		fixed: fixed, sources: sources, lookup: net.DefaultResolver.LookupNetIP, machine: webhook.InterfaceAddrs, log: log,
		names: map[string]resolution{}, seen: map[netip.AddrPort]time.Time{},
	}
}

// run refreshes the set until ctx ends.
func (o *OwnAddresses) run(ctx context.Context) {
	tick := time.NewTicker(ownEvery)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			o.Refresh(ctx, now)
		case <-ctx.Done():
			return
		}
	}
}

// Refresh lists the parts again. Addresses are closed before names are
// resolved, so a resolver that hangs delays names alone.
func (o *OwnAddresses) Refresh(ctx context.Context, now time.Time) {
	byName := map[string][]uint16{}
	for _, source := range o.sources {
		for _, part := range source() {
			host, port, err := net.SplitHostPort(part)
			number, err2 := strconv.ParseUint(port, 10, 16)
			if err != nil || err2 != nil || host == "" || number == 0 {
				continue // a part that did not say where it is
			}
			if a, err := netip.ParseAddr(host); err == nil {
				o.seen[netip.AddrPortFrom(a, uint16(number))] = now
			} else {
				byName[host] = append(byName[host], uint16(number))
			}
		}
	}
	o.publish(byName, now)
	if o.resolve(ctx, slices.Collect(maps.Keys(byName)), now) {
		o.publish(byName, now)
	}
}

// publish replaces the set by the present one.
func (o *OwnAddresses) publish(byName map[string][]uint16, now time.Time) {
	for name, ports := range byName {
		for _, a := range o.names[name].addrs {
			for _, port := range ports {
				o.seen[netip.AddrPortFrom(a, port)] = now
			}
		}
	}
	maps.DeleteFunc(o.seen, func(_ netip.AddrPort, at time.Time) bool { return now.Sub(at) > ownLinger })
	o.Set.Store(webhook.NewOwn(slices.Concat(o.fixed, slices.Collect(maps.Keys(o.seen)), o.here())))
}

// here returns an address that stands for all of this machine, for each port at
// which a part is on this machine. A part may listen on more addresses than the one
// by which the server knows it: a Redis at 127.0.0.1 is mostly at ::1 too, and one in
// a container at every address of the machine.
func (o *OwnAddresses) here() (all []netip.AddrPort) {
	machine, err := o.machine()
	if err != nil && !o.blind {
		o.log.Warn("cannot read the addresses of this machine, so tasks may reach its services there: let the server open netlink sockets (AF_NETLINK in RestrictAddressFamilies of systemd), or close the addresses with --egress-deny", "error", err)
	}
	o.blind = err != nil
	for part := range o.seen {
		if slices.Contains(o.fixed, part) {
			continue // the server knows where it listens itself
		}
		if a := part.Addr().Unmap().WithZone(""); a.IsLoopback() || slices.Contains(machine, a) {
			all = append(all, netip.AddrPortFrom(netip.IPv6Unspecified(), part.Port()))
		}
	}
	return all
}

// resolve looks up the names that it is time for, and reports whether there
// were any. A name that does not resolve keeps its addresses.
func (o *OwnAddresses) resolve(ctx context.Context, names []string, now time.Time) bool {
	maps.DeleteFunc(o.names, func(name string, _ resolution) bool { return !slices.Contains(names, name) })
	names = slices.DeleteFunc(names, func(name string) bool {
		r, known := o.names[name]
		return known && now.Sub(r.at) < ownNameEvery
	})
	if len(names) == 0 {
		return false
	}
	ctx, stop := context.WithTimeout(ctx, ownNameTime)
	defer stop()
	found := make([][]netip.Addr, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			addrs, err := o.lookup(ctx, "ip", name)
			if err != nil {
				o.log.Debug("cannot resolve a part of the server", "host", name, "error", err)
			}
			found[i] = addrs
		})
	}
	all.Wait()
	for i, name := range names {
		r := resolution{addrs: found[i], at: now}
		if len(r.addrs) == 0 {
			r.addrs = o.names[name].addrs
		}
		o.names[name] = r
	}
	return true
}
