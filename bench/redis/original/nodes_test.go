package original

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/task"
)

func TestTheOriginalPutsAMinuteOnOneMaster(t *testing.T) {
	c := redistest.NewCluster(t, 3, 0)
	w, _ := wheel(t, c.Addrs()...)
	for i, name := range names(300) {
		add(t, w, name, instant.Truncate(time.Minute).Add(time.Duration(i)*200*time.Millisecond))
	}
	var have []int
	for _, addr := range c.Addrs() {
		n, _ := strconv.Atoi(command(t, addr, "DBSIZE")[1:])
		have = append(have, n)
	}
	if have[0]+have[1]+have[2] != 1 {
		t.Errorf("the original keeps a minute's tasks in %v keys of the masters", have)
	}
}

func TestAMinuteIsSpreadEvenlyOverTheMasters(t *testing.T) {
	c := redistest.NewCluster(t, 3, 0)
	s := openStore(t, c.Addrs()...)
	specs := make([]task.Spec, 3000)
	for i := range specs {
		specs[i] = spec(fmt.Sprint("order-", i), instant.Truncate(time.Minute).Add(time.Duration(i)*20*time.Millisecond))
	}
	create(t, s, specs...)
	for _, addr := range c.Addrs() {
		// Each shard with tasks has a key of its records. They are counted on
		// their server.
		n, _ := strconv.Atoi(command(t, addr, "EVAL", `local n = 0
			for _, key in ipairs(redis.call('KEYS', 'foliot:*:meta')) do n = n + redis.call('HLEN', key) end
			return n`, "0")[1:])
		if n < 900 || n > 1100 {
			t.Errorf("the master at %s has %d of 3000 tasks", addr, n)
		}
	}
}

func TestInTheOriginalEveryNodeScansEverySecond(t *testing.T) {
	addr := redistest.New(t).Addr
	for range 3 {
		w, _ := wheel(t, addr)
		runs(t, w, instant, instant.Add(59*time.Second)) // no task is due
	}
	if n := calledTimes(t, addr, "eval|evalsha"); n < 180 {
		t.Errorf("three nodes sent %d scripts in a minute in which nothing is due", n)
	}
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
		one := spec(name, due)
		one.Queue = name // a lane for each
		changes = append(changes, task.Create{Spec: one})
	}
	apply(t, nodes[0], time.Now(), changes...)
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	for {
		one, more, each := watchers(t, nodes, due)
		if one == len(queues) && each {
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
		lanes, err := s.Lanes(t.Context(), task.CeilMillis(until))
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
