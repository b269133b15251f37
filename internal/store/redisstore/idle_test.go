package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// An idle cluster must not fill disks: the writes by which nodes stay owners go
// into the file of every server and replica, day and night.
func TestIdleNodesWriteLittle(t *testing.T) {
	long(t)
	for _, nodes := range []int{1, 3} {
		server := redistest.New(t, "--auto-aof-rewrite-percentage", "0")
		var all []*Store
		for i := range nodes {
			c := Config{Shared: store.Shared{Node: string(rune('a' + i))}}
			c.Client.InitAddress, c.Client.DisableCache, c.Client.DisableRetry = []string{server.Addr}, true, true
			s, err := Open(t.Context(), c)
			fatal.If(t, err)
			t.Cleanup(func() { _ = s.Close() })
			all = append(all, s)
		}
		eventually(t, "they share the shards", func() bool { return divided(all...) })
		const length = 10 * time.Second
		before := infoNumbers(t, server.Addr, "aof_current_size", "total_commands_processed", "used_cpu_user", "used_cpu_sys")
		time.Sleep(length) // no event to wait for
		after := infoNumbers(t, server.Addr, "aof_current_size", "total_commands_processed", "used_cpu_user", "used_cpu_sys")
		written, commands := (after[0]-before[0])/length.Seconds(), (after[1]-before[1])/length.Seconds()
		t.Logf("%d nodes: %.0f bytes and %.0f commands a second, %.1f %% of a processor", nodes, written, commands, 10*(after[2]+after[3]-before[2]-before[3]))
		if bound := 10_000 + 500*float64(nodes); written > bound {
			t.Errorf("%d nodes write %.0f bytes a second, more than %.0f", nodes, written, bound)
		}
	}
}

// infoNumbers returns fields of INFO.
func infoNumbers(t *testing.T, addr string, names ...string) []float64 {
	t.Helper()
	fields, err := redistest.Info(context.WithoutCancel(t.Context()), addr)
	fatal.If(t, err)
	numbers := make([]float64, len(names))
	for i, name := range names {
		if numbers[i], err = strconv.ParseFloat(fields[name], 64); err != nil {
			t.Fatal(name, err)
		}
	}
	return numbers
}

// Every client that may list, or read the audit log, can ask for pages that
// match nothing. Every node sweeps every ten seconds.
func TestAReadReadsLittleMoreThanItExamines(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	s, err := Open(t.Context(), Config{Client: rueidis.ClientOption{InitAddress: []string{server.Addr}, DisableCache: true}, Alone: true})
	fatal.If(t, err)
	defer func() { _ = s.Close() }()
	for part := range task.MaxPageExamined/500 + 1 {
		soon(t, s, fmt.Sprint("part", part, "-"), 500, time.Hour)
		fatal.If(t, errOf(s.Configure(t.Context(), 1, []settings.Edit{settings.Note(slices.Repeat([]settings.AuditEntry{{At: 1, By: "token:0123456789abcdef", Addr: "192.0.2.1", Namespace: "default", Action: "queue.pause", Target: "q"}}, 500))})))
	}
	for name, limit := range map[string]struct {
		bytes int
		page  func() (int, error)
	}{
		"listing": {3 << 19, func() (n int, err error) {
			l, err := s.List(t.Context(), task.Filter{Namespace: "default", Queue: "none"}, task.Page{Limit: 1000})
			return len(l.Tasks), err
		}},
		"audit log": {4 << 20, func() (n int, err error) {
			p, err := s.Audit(t.Context(), settings.AuditFilter{Action: "none"}, 0, 100)
			return len(p.Entries), err
		}},
		"sweep": {20_000, func() (int, error) { return s.Sweep(t.Context(), 1, 1000) }},
	} {
		before, began := infoNumbers(t, server.Addr, "total_net_output_bytes")[0], time.Now()
		n, err := limit.page()
		if err != nil || n != 0 {
			t.Fatal(n, err)
		}
		got := int(infoNumbers(t, server.Addr, "total_net_output_bytes")[0] - before)
		t.Logf("%s: %d KB in %v", name, got>>10, time.Since(began))
		if got > limit.bytes {
			t.Errorf("%s: %d KB were read", name, got>>10)
		}
	}
}

// Records that are kept for a day at 1000 tasks a second must be swept at 1000
// a second.
func TestASweepRemovesIdempotencyKeysTogether(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	proxy := redistest.NewProxy(t, server.Addr)
	s := openNodeWith(t, Config{Alone: true, Shared: store.Shared{Policy: task.Policy{KeepFinished: time.Millisecond}}}, proxy.Addr)
	now := task.CeilMillis(time.Now())
	makes := tasktest.Creates("t", 300, now.Add(time.Hour), nil)
	for i, c := range makes {
		makes[i] = task.Create{Spec: c.(task.Create).Spec, Idempotency: &task.Idempotency{Key: fmt.Sprint("key", i), Fingerprint: "f"}}
	}
	for _, changes := range [][]task.Change{makes, tasktest.Cancels(makes)} {
		fatal.If(t, errOf(s.Transit(t.Context(), now, store.Changes(changes))))
	}
	const delay = 50 * time.Millisecond
	proxy.Delay(delay)
	began, swept := time.Now(), 0
	for swept < 300 {
		n, err := s.Sweep(t.Context(), task.FloorMillis(s.Now()), 1000)
		fatal.If(t, err)
		swept += n
	}
	if took := time.Since(began); took > 300*delay/2 { // one by one they would take twice as long
		t.Errorf("%d records in %v", swept, took)
	}
	for _, sh := range s.shards {
		if got, err := redistest.Command(t.Context(), server.Addr, "HLEN", sh.Idem); err != nil || got != ":0" {
			t.Errorf("%s has %s keys, %v", sh.Idem, got, err)
		}
	}
}
