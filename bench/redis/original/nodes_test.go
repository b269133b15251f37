package original

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/task"
)

// unused is a receiver that is never called.
var unused = &receiver{url: "http://receiver.example/"}

func TestTheOriginalPutsAMinuteOnOneMaster(t *testing.T) {
	c := redistest.NewCluster(t, 3, 0)
	w := wheel(t, unused, c.Addrs()...)
	for i, name := range names(3000) {
		add(t, w, unused.task(name), instant.Truncate(time.Minute).Add(time.Duration(i)*20*time.Millisecond))
	}
	saw(t, shares(t, c, "wheel_task_*", "ZCARD"), "masters: 3000, 0, 0 tasks")
}

func TestAMinuteIsSpreadEvenlyOverTheMasters(t *testing.T) {
	c := redistest.NewCluster(t, 3, 0)
	s := openStore(t, c.Addrs()...)
	var specs []task.Spec
	for i, name := range names(3000) {
		specs = append(specs, unused.spec(name, instant.Truncate(time.Minute).Add(time.Duration(i)*20*time.Millisecond)))
	}
	create(t, s, specs...)
	// Each shard with tasks has a key of its records.
	saw(t, shares(t, c, "foliot:*:meta", "HLEN"), "masters: 1018, 1007, 975 tasks")
}

// shares returns how many elements each master has in its keys with a pattern,
// the largest number first.
func shares(t *testing.T, c *redistest.Cluster, pattern, count string) string {
	t.Helper()
	var have []int
	for _, addr := range c.Addrs() {
		n, _ := strconv.Atoi(command(t, addr, "EVAL", `local n = 0
			for _, key in ipairs(redis.call('KEYS', ARGV[1])) do n = n + redis.call(ARGV[2], key) end
			return n`, "0", pattern, count)[1:])
		have = append(have, n)
	}
	slices.Sort(have)
	return fmt.Sprintf("masters: %d, %d, %d tasks", have[2], have[1], have[0])
}

func TestInTheOriginalEveryNodeScansEverySecond(t *testing.T) {
	addr := redistest.New(t).Addr
	for range 3 {
		unused.runs(t, wheel(t, unused, addr), instant, instant.Add(59*time.Second)) // no task is due
	}
	saw(t, fmt.Sprint(calledTimes(t, addr, "smembers"), " scans in an empty minute"), "180 scans in an empty minute")
}

func TestEachTaskIsWatchedByOneNode(t *testing.T) {
	addr := redistest.New(t).Addr
	var nodes []*redisstore.Store
	for i := range 3 {
		s, err := redisstore.Open(t.Context(), redisstore.Config{
			Client: options(addr), Node: fmt.Sprint("node-", i), Shards: 24, ShardLease: 1500 * time.Millisecond, Heartbeat: 100 * time.Millisecond, LanePoll: 50 * time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		nodes = append(nodes, s)
	}
	due := time.Now() // so each node looks for it
	queues := names(96)
	var changes []task.Change
	for _, name := range queues {
		one := unused.spec(name, due)
		one.Queue = name // a lane for each
		changes = append(changes, task.Create{Spec: one})
	}
	apply(t, nodes[0], time.Now(), changes...)
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	for {
		one, more, each := watchers(t, nodes, due)
		if one == len(queues) && each {
			saw(t, fmt.Sprintf("%d tasks, %d watched by one node", len(queues), one), "96 tasks, 96 watched by one node")
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("of %d tasks %d are watched by one node, %d by more", len(queues), one, more)
		case <-time.After(20 * time.Millisecond): // the nodes divide the shards
		}
	}
}

// watchers returns how many queues are read by one node, how many by several,
// and whether each node reads some.
func watchers(t *testing.T, nodes []*redisstore.Store, until time.Time) (one, more int, each bool) {
	t.Helper()
	by := map[string]int{}
	each = true
	for _, s := range nodes {
		lanes, err := store.LaneHeads(t.Context(), s, task.CeilMillis(until))
		if err != nil {
			t.Fatal(err)
		}
		each = each && len(lanes) > 0
		for _, l := range lanes {
			by[l.Lane.Queue]++
		}
	}
	for _, n := range by {
		if n == 1 {
			one++
		} else {
			more++
		}
	}
	return one, more, each
}

// calledTimes returns how often a server received commands with matching names.
func calledTimes(t *testing.T, addr, pattern string) (sum int) {
	t.Helper()
	for _, m := range regexp.MustCompile(`cmdstat_(?:`+pattern+`):calls=(\d+)`).FindAllStringSubmatch(command(t, addr, "INFO", "commandstats"), -1) {
		n, _ := strconv.Atoi(m[1])
		sum += n
	}
	return sum
}
