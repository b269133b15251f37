package namespaces

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// attack is one attack of the scenario namespaces. prepare and strike
// run in the attacker's process; the other fields say how the battery sets it up.
type attack struct {
	Name string
	What string

	scope string              // of the rival's token; empty means that the attacker has no token
	quota wire.NamespaceInput // of the rival's namespace
	flags []string            // of the server, added to those of every attack

	redisMemory string        // maxmemory of the Redis; empty means redistest's default
	redisLasts  time.Duration // the attack lasts at least this long on Redis
	onDirectory bool          // it needs a data directory; Redis has no such attack

	surface  bool // it attacks the HTTP surface: a namespace has no need to do this
	hangs    bool // the rival's tasks call a host that never answers
	drains   bool // it lasts until all the rival's tasks have arrived
	bounded  bool // the store must not grow faster than maxGrowth
	tinyDisk bool // the data directory is on a small file system that is nearly full

	prepare func(context.Context, *attacker) error // nil means no preparation
	strike  func(context.Context, *attacker)       // nil means that the work of prepare is the attack. It returns when its context ends.
}

// All has the attacks in the order in which they run.
var All = []attack{
	{
		Name: "window", What: "one HTTP/2 connection: 100 lists at once under a window of 0", surface: true,
		scope: "read", quota: wire.NamespaceInput{MaxPending: 20, MaxBytes: 6 << 20, CreateRate: 5, CreateBurst: 20},
		prepare: bigPages, strike: func(ctx context.Context, a *attacker) { a.stall(ctx, 1, 100) },
	}, {
		Name: "windows", What: "the same on 32 connections of one token", surface: true,
		scope: "read", quota: wire.NamespaceInput{MaxPending: 20, MaxBytes: 6 << 20, CreateRate: 5, CreateBurst: 20},
		prepare: bigPages, strike: func(ctx context.Context, a *attacker) { a.stall(ctx, 32, 100) },
	}, {
		Name: "hosts", What: "-rivals tasks to as many hosts, all due at once",
		scope: "write", drains: true, prepare: crowdOfHosts,
	}, {
		Name: "queues", What: "-rivals tasks in as many queues, all due at once",
		scope: "write", drains: true, prepare: crowdOfQueues,
	}, {
		Name: "schedules", What: "-rival-schedules schedules, all due at once",
		scope: "write", drains: true, prepare: rivalSchedules,
	}, {
		Name: "lists", What: "200 lists with bodies at once, again and again",
		scope: "read", prepare: fullPages, strike: lists,
	}, {
		Name: "live", What: "a flood of reads of 500 KB: 64 × /v1/live at once, again and again", surface: true,
		scope: "read", prepare: busyQueues, strike: live,
	}, {
		Name: "searches", What: "lists and audit searches that find nothing, and bulk cancels of nothing",
		scope: "admin", prepare: manyTasks, strike: searches,
	}, {
		Name: "occurrences", What: "9 schedules with large bodies within max_pending 10, to a host that hangs",
		scope: "write", quota: wire.NamespaceInput{MaxPending: 10}, flags: []string{"--body-limit", "1048576"},
		redisMemory: "256mb", redisLasts: 30 * time.Second, hangs: true, bounded: true,
		prepare: largeOccurrences,
	}, {
		Name: "resets", What: "a stranger: 64 connections of HTTP/2 resets", surface: true, strike: resets,
	}, {
		Name: "handshakes", What: "a stranger: 4,900 TLS handshakes at once, again and again", surface: true, strike: handshakes,
	}, {
		Name: "openapi", What: "a stranger: 128 × /openapi.json at once, again and again", surface: true, strike: openapi,
	}, {
		Name: "touches", What: "touches without a pause, within create_rate 5", bounded: true,
		scope: "write", quota: wire.NamespaceInput{MaxPending: 100, CreateRate: 5, CreateBurst: 100},
		prepare: fewTasks, strike: touches,
	}, {
		Name: "patches", What: "PATCHes without a pause, within create_rate 5", bounded: true,
		scope: "write", quota: wire.NamespaceInput{MaxPending: 100, CreateRate: 5, CreateBurst: 100},
		prepare: fewTasks, strike: patches,
	}, {
		Name: "import", What: "8 batches of 1,000 tasks at once, again and again, without quotas", scope: "write", strike: imports,
	}, {
		Name: "disk", What: "creates and PATCHes without quotas, where the disk is nearly full: the server must not stop", onDirectory: true, tinyDisk: true,
		scope: "write", prepare: fewTasks, strike: fillDisk,
	}, {
		Name: "batches", What: "8 batches of 16 MiB at once that are refused, again and again", surface: true,
		scope: "write", quota: wire.NamespaceInput{MaxPending: 10, CreateRate: 5},
		prepare: wideBatches, strike: sendBatches,
	},
}

// Choose returns the attacks with the names of a list. It returns all for "".
func Choose(names string) ([]attack, error) {
	if names == "" {
		return All, nil
	}
	var chosen []attack
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(All, func(a attack) bool { return a.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no attack %q: see --help", name)
		}
		chosen = append(chosen, All[i])
	}
	return chosen, nil
}
