package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// BenchmarkCreate creates tasks from 64 goroutines, one in each call, on one
// server. us/create is the server's own processor time.
func BenchmarkCreate(b *testing.B) {
	server := redistest.New(b)
	s, err := Open(b.Context(), Config{Client: rueidis.ClientOption{InitAddress: []string{server.Addr}, DisableCache: true}})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	now := task.CeilMillis(time.Now())
	var next atomic.Int64
	before := processor(b, server.Addr)
	b.ResetTimer()
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				spec := task.DefaultSpec()
				spec.Name, spec.ID = fmt.Sprintf("order-%d", n), strconv.FormatInt(n, 36)
				spec.When, spec.Request.URL = task.When{At: now + 3_600_000 + task.Millis(n)}, "https://receiver.example/hook"
				replies, err := s.Transit(context.Background(), task.CeilMillis(time.Now()), store.Changes([]task.Change{task.Create{Spec: spec}}))
				if err != nil || replies[0].Err != nil {
					b.Error(err, replies)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "creates/s")
	b.ReportMetric((processor(b, server.Addr)-before)*1e6/float64(b.N), "us/create")
}

// processor returns the processor time in seconds that a server has used.
func processor(b *testing.B, addr string) float64 {
	text, err := redistest.Command(context.Background(), addr, "INFO", "cpu")
	if err != nil {
		b.Fatal(err)
	}
	sum := 0.0
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_user" || name == "used_cpu_sys" {
			n, _ := strconv.ParseFloat(value, 64)
			sum += n
		}
	}
	return sum
}
