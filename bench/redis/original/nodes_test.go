package original

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/redistest"
)

// unused is a receiver that is never called.
var unused = &receiver{url: "http://receiver.example/"}

func TestTheOriginalPutsAMinuteOnOneMaster(t *testing.T) {
	c := redistest.NewCluster(t, 3, 0)
	w := wheel(t, unused, c.Addrs()...)
	for i := range 3000 {
		add(t, w, unused.task(fmt.Sprint("task-", i)), instant.Truncate(time.Minute).Add(time.Duration(i)*20*time.Millisecond))
	}
	saw(t, shares(t, c), "masters: 3000, 0, 0 tasks")
}

// shares returns how many tasks each master has, the largest number first.
func shares(t *testing.T, c *redistest.Cluster) string {
	t.Helper()
	var have []int
	for _, addr := range c.Addrs() {
		n, _ := strconv.Atoi(command(t, addr, "EVAL", `local n = 0
			for _, key in ipairs(redis.call('KEYS', 'wheel_task_*')) do n = n + redis.call('ZCARD', key) end
			return n`, "0")[1:])
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

// calledTimes returns how often a server received commands with matching names.
func calledTimes(t *testing.T, addr, pattern string) (sum int) {
	t.Helper()
	for _, m := range regexp.MustCompile(`cmdstat_(?:`+pattern+`):calls=(\d+)`).FindAllStringSubmatch(command(t, addr, "INFO", "commandstats"), -1) {
		n, _ := strconv.Atoi(m[1])
		sum += n
	}
	return sum
}
