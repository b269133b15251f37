package redisstore

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// An idle cluster must not fill disks: the writes by which nodes stay owners go
// into the file of every server and replica, day and night.
func TestIdleNodesWriteLittle(t *testing.T) {
	long(t)
	for _, nodes := range []int{1, 3} {
		server := redistest.New(t, "--auto-aof-rewrite-percentage", "0")
		var all []*Store
		for i := range nodes {
			c := Config{Node: string(rune('a' + i))}
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
	text, err := redistest.Command(context.WithoutCancel(t.Context()), addr, "INFO", "everything")
	fatal.If(t, err)
	fields, numbers := infoFields(text), make([]float64, len(names))
	for i, name := range names {
		if numbers[i], err = strconv.ParseFloat(fields[name], 64); err != nil {
			t.Fatal(name, err)
		}
	}
	return numbers
}

// infoFields returns the fields of a reply to INFO.
func infoFields(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// Every node sweeps every ten seconds, so a sweep must not read the whole audit
// log.
func TestASweepReadsOnlyTheBeginningOfTheAuditLog(t *testing.T) {
	server := redistest.New(t)
	s := openNode(t, "a", server.Addr)
	now := task.FloorMillis(time.Now())
	fatal.If(t, errOf(s.Configure(t.Context(), now, []settings.Edit{settings.Note(slices.Repeat([]settings.AuditEntry{{At: now, Action: settings.ActionBackup}}, 2000))})))
	before := infoNumbers(t, server.Addr, "total_net_output_bytes")
	for range 5 {
		fatal.If(t, errOf(s.Sweep(t.Context(), now, 1000)))
	}
	after := infoNumbers(t, server.Addr, "total_net_output_bytes")
	if read := (after[0] - before[0]) / 5; read > 20_000 {
		t.Errorf("a sweep read %.0f bytes", read)
	} else {
		t.Logf("a sweep read %.0f bytes", read)
	}
}
