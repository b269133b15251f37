package redis

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/system"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

const (
	balanceRate = 200 // tasks due a second

	leastShare, mostShare = 0.25, 0.42 // the deliveries of one of three nodes, as a share of all
	masterStray           = 0.10       // how far the tasks of a master may differ from a third, as a share of that third
)

// Balance: tasks that are due within a minute, on three masters, by three nodes.
// The operating system shows the process that sent a callback.
func Balance(ctx context.Context, t *harness.Run) {
	c := startCluster(t, t.Path("redis"), 3, 0)
	n := t.PrepareNodes(".", 3, "redis+cluster://"+c.Servers[0].Addr)
	by := newSenders(n)
	n.StartAll(ctx)
	for _, s := range n.Servers {
		by.pids = append(by.pids, s.PID())
	}
	count := balanceRate * int(t.Options.Spread/time.Second)
	start := timing.DueIn(time.Duration(count)*time.Millisecond/2 + 3*time.Second)
	names := n.Schedule(ctx, count, "balance", func(i int) time.Time {
		return start.Add(time.Duration(i) * time.Second / balanceRate)
	})
	if ahead := time.Until(start); ahead < 0 {
		harness.Fatalf("the tasks were created %v after the first was due", -ahead)
	}
	mustSpread(ctx, t, c, count)
	n.Receiver.AwaitAll(ctx, names, time.Until(start)+t.Options.Spread+20*time.Second)
	v := n.Conclude(ctx, harness.Phases{})
	t.Must(v.Duplicates == 0, "duplicates %d", v.Duplicates)
	by.must(t)
}

// mustSpread checks how many tasks each master holds.
func mustSpread(ctx context.Context, t *harness.Run, c *redistest.Cluster, count int) {
	const held = `local n = 0 for _, key in ipairs(redis.call('KEYS', 'foliot:{*}:meta')) do n = n + redis.call('HLEN', key) end return n`
	var parts []int
	for _, s := range c.Servers {
		reply, err := redistest.Command(ctx, s.Addr, "EVAL", held, "0")
		if err != nil {
			harness.Fatalf("count the tasks of a master: %w", err)
		}
		n, err := strconv.Atoi(reply[1:]) // ":123"
		if err != nil {
			harness.Fatalf("count the tasks of a master: the reply is %s", reply)
		}
		parts = append(parts, n)
	}
	third := float64(count) / 3
	low, high := float64(slices.Min(parts)), float64(slices.Max(parts))
	t.Must(low >= third*(1-masterStray) && high <= third*(1+masterStray), "tasks of the masters: %v, each within %.0f %% of a third", parts, 100*masterStray)
}

// senders count callbacks by the process that sent them.
type senders struct {
	to   netip.AddrPort // the receiver
	pids []int          // set before the first callback

	mu     sync.Mutex     // guards everything below
	known  map[string]int // address of a connection → index of its process; -1 means no process
	counts []int
	others int
	err    error // the first failure to find the process of a connection
}

// newSenders makes the receiver of n count the senders of callbacks.
func newSenders(n *harness.Environment) *senders {
	by := &senders{to: netip.MustParseAddrPort(n.Receiver.Addr), known: map[string]int{}, counts: make([]int, len(n.Servers))}
	n.Receiver.Accept = func(req *http.Request) int {
		by.count(req.RemoteAddr)
		return http.StatusOK
	}
	return by
}

// count counts a callback. It looks up the process of each connection once.
func (by *senders) count(addr string) {
	by.mu.Lock()
	defer by.mu.Unlock()
	i, known := by.known[addr]
	if !known {
		i = by.askLocked(addr)
		by.known[addr] = i
	}
	if i < 0 {
		by.others++
		return
	}
	by.counts[i]++
}

func (by *senders) askLocked(addr string) int {
	from, err := netip.ParseAddrPort(addr)
	for i, pid := range by.pids {
		var holds bool
		if err == nil {
			holds, err = system.HoldsSocket(pid, from, by.to)
		}
		if holds {
			return i
		}
	}
	if by.err == nil {
		by.err = err
	}
	return -1
}

func (by *senders) must(t *harness.Run) {
	by.mu.Lock()
	defer by.mu.Unlock()
	all := by.others
	for _, n := range by.counts {
		all += n
	}
	t.Must(by.others == 0, "callbacks of no node: %d", by.others)
	if by.err != nil {
		t.Note("the system says: %v", by.err)
	}
	for i, n := range by.counts {
		share := float64(n) / float64(max(all, 1))
		t.Must(share >= leastShare && share <= mostShare, "n%d delivered %d, %.1f %% of all", i+1, n, 100*share)
	}
}
