package redis

import (
	"context"
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

const (
	cutting  = 10 * time.Second
	cutEvery = 199 // commands of a kind, besides the first, second, fourth …
)

// CutReplies: connections are cut instead of a reply: for each kind of command,
// at the first command, the second, the fourth, and so on.
func CutReplies(ctx context.Context, t *harness.Run) {
	p := t.StartProxiedRedis()
	cuts := &cutter{seen: map[string]int{}}
	p.CutAt(cuts.doomed)
	v := underFaults(ctx, t, ".", "redis://"+p.Addr, func(n *harness.Environment) {
		cuts.on.Store(true)
		timing.Pause(ctx, cutting)
		cuts.on.Store(false)
		n.RecordFault("cut", time.Now())
	})
	mustKeep(t, v)
	cuts.mu.Lock()
	defer cuts.mu.Unlock()
	t.Must(cuts.count > 0, "replies cut: %d, of %d kinds of commands", cuts.count, len(cuts.seen))
	t.Must(v.Duplicates <= cuts.count, "duplicates %d, at most one for each cut", v.Duplicates)
}

// cutter chooses the replies to cut, while it is on.
type cutter struct {
	on atomic.Bool // set by the scenario, read by the proxy

	mu    sync.Mutex // guards everything below
	seen  map[string]int
	count int
}

func (c *cutter) doomed(command []string) bool {
	if len(command) == 0 || !c.on.Load() {
		return false
	}
	kind := strings.ToUpper(command[0])
	if len(command) > 1 && (kind == "EVALSHA" || kind == "EVAL" || kind == "CLUSTER" || kind == "CLIENT") {
		kind += " " + command[1] // the script or the subcommand
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[kind]++
	n := c.seen[kind]
	if bits.OnesCount(uint(n)) != 1 && n%cutEvery != 0 {
		return false
	}
	c.count++
	return true
}
