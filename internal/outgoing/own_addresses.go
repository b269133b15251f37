package outgoing

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
	ownEvery       = time.Second      // the interval at which the services are listed
	ownNameEvery   = 10 * time.Second // the interval at which the host name of a service is resolved
	ownNameTimeout = 3 * time.Second  // the time limit of a resolution

	// ownKeep is how long an address stays closed after the last list that
	// contained it. A replaced master can come back, and a lookup of a name
	// with many addresses returns only a few.
	ownKeep = 10 * time.Minute
)

// ownAddresses is the set of addresses that tasks must not reach, because they
// belong to the server's own services: its API, its store, the other nodes, the
// collector. These addresses change: a failover promotes another master, or a
// name gets another address.
//
// The goroutine of run keeps set up to date. Any goroutine can read set.
type ownAddresses struct {
	fixed   []netip.AddrPort
	sources []func() []string // each returns host:port of services; duplicates are allowed
	lookup  func(ctx context.Context, network, host string) ([]netip.Addr, error)
	machine func() ([]netip.Addr, error) // the addresses of this machine
	log     *slog.Logger

	set atomic.Pointer[webhook.Own] // written by the goroutine of run

	// The goroutine of run owns these fields.
	names map[string]resolution
	seen  map[netip.AddrPort]time.Time // the time of the last list that contained it
	blind bool                         // the last attempt to read the addresses of this machine failed
}

// resolution is the result of resolving a name.
type resolution struct {
	addrs []netip.Addr
	at    time.Time // the start of the last lookup
}

// newOwnAddresses returns the set of the fixed addresses and of the addresses
// that the sources return. set holds nil before the first refresh.
func newOwnAddresses(log *slog.Logger, fixed []netip.AddrPort, sources ...func() []string) *ownAddresses {
	return &ownAddresses{
		fixed: fixed, sources: sources, lookup: net.DefaultResolver.LookupNetIP, machine: webhook.InterfaceAddrs, log: log,
		names: map[string]resolution{}, seen: map[netip.AddrPort]time.Time{},
	}
}

// run refreshes the set every ownEvery until ctx ends.
func (o *ownAddresses) run(ctx context.Context) {
	tick := time.Tick(ownEvery)
	for {
		select {
		case now := <-tick:
			o.refresh(ctx, now)
		case <-ctx.Done():
			return
		}
	}
}

// refresh lists the services again, and publishes their addresses. It resolves
// host names only after that, so a slow resolver delays only the addresses of
// names. Only one goroutine may call it at a time.
func (o *ownAddresses) refresh(ctx context.Context, now time.Time) {
	byName := map[string][]uint16{}
	for _, source := range o.sources {
		for _, part := range source() {
			host, port, err := net.SplitHostPort(part)
			number, err2 := strconv.ParseUint(port, 10, 16)
			if err != nil || err2 != nil || host == "" || number == 0 {
				continue // the address of this service is unknown
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

// publish replaces set with a set of all known addresses. byName has the ports
// of each host name.
func (o *ownAddresses) publish(byName map[string][]uint16, now time.Time) {
	for name, ports := range byName {
		for _, a := range o.names[name].addrs {
			for _, port := range ports {
				o.seen[netip.AddrPortFrom(a, port)] = now
			}
		}
	}
	maps.DeleteFunc(o.seen, func(_ netip.AddrPort, at time.Time) bool { return now.Sub(at) > ownKeep })
	o.set.Store(webhook.NewOwn(slices.Concat(o.fixed, slices.Collect(maps.Keys(o.seen)), o.here())))
}

// here returns one wildcard address for each port of a service on this machine.
// The wildcard address closes the port at all addresses of the machine. A
// service can listen on more addresses than the server knows: a Redis at
// 127.0.0.1 usually listens on ::1 too, and a Redis in a container listens on
// every address of the machine.
func (o *ownAddresses) here() (all []netip.AddrPort) {
	machine, err := o.machine()
	if err != nil && !o.blind {
		o.log.Warn("cannot read the addresses of this machine, so tasks may reach the store or the collector there: allow netlink sockets (AF_NETLINK in RestrictAddressFamilies of systemd), or close the addresses with --egress-deny", "error", err)
	}
	o.blind = err != nil
	for part := range o.seen {
		if slices.Contains(o.fixed, part) {
			continue // the server knows all addresses of its own listener
		}
		if a := part.Addr().Unmap().WithZone(""); a.IsLoopback() || slices.Contains(machine, a) {
			all = append(all, netip.AddrPortFrom(netip.IPv6Unspecified(), part.Port()))
		}
	}
	return all
}

// resolve looks up the names with a last lookup older than ownNameEvery. It
// reports whether it looked up any. If the lookup of a name fails, the name
// keeps its addresses.
func (o *ownAddresses) resolve(ctx context.Context, names []string, now time.Time) bool {
	maps.DeleteFunc(o.names, func(name string, _ resolution) bool { return !slices.Contains(names, name) })
	names = slices.DeleteFunc(names, func(name string) bool {
		r, known := o.names[name]
		return known && now.Sub(r.at) < ownNameEvery
	})
	if len(names) == 0 {
		return false
	}
	ctx, stop := context.WithTimeout(ctx, ownNameTimeout)
	defer stop()
	found := make([][]netip.Addr, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			addrs, err := o.lookup(ctx, "ip", name)
			if err != nil {
				o.log.Debug("cannot resolve an address of the store, a node or the collector", "host", name, "error", err)
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
