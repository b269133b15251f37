package embed

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/dir"
	"github.com/foliot/foliot/internal/fatal"
)

// measuring skips a test that only measures, unless `make measure-embed` runs
// it.
func measuring(t *testing.T) {
	t.Helper()
	if os.Getenv("FOLIOT_MEASURE") == "" {
		t.Skip("FOLIOT_MEASURE is not set")
	}
}

// cpu returns the processor time that this process has used.
func cpu(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	fatal.If(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// create creates count tasks from 64 goroutines.
func create(t *testing.T, n *foliot.Node, count int, due func(i int) time.Time) {
	t.Helper()
	var next atomic.Int64
	var work sync.WaitGroup
	for range 64 {
		work.Go(func() {
			for i := int(next.Add(1)); i <= count; i = int(next.Add(1)) {
				if _, err := note.At(t.Context(), n, fmt.Sprint("m", i), due(i), 0); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	work.Wait()
}

// TestMeasureAHundredThousandTimersInAMinute measures the lateness and the
// processor time of tasks. Their handlers do nothing.
func TestMeasureAHundredThousandTimersInAMinute(t *testing.T) {
	measuring(t)
	const count, over = 100_000, time.Minute
	late := make([]time.Duration, 0, count)
	var mu sync.Mutex
	early := 0
	mux := new(foliot.Mux)
	note.Handle(mux, func(_ context.Context, task *foliot.Task[int64]) error {
		by := time.Since(task.Due)
		mu.Lock()
		defer mu.Unlock()
		if late = append(late, by); by < 0 {
			early++
		}
		return nil
	})
	n, err := foliot.Open(t.Context(), dir.Store(t.TempDir()), mux, foliot.Options{Logger: slog.New(slog.DiscardHandler)})
	fatal.If(t, err)
	defer n.Close()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	began := time.Now()
	first := began.Add(60 * time.Second) // after all are created
	create(t, n, count, func(i int) time.Time { return first.Add(over * time.Duration(i) / count) })
	t.Logf("created %d in %v: %.0f a second", count, time.Since(began).Round(time.Millisecond), count/time.Since(began).Seconds())
	time.Sleep(time.Until(first))
	used := cpu(t)
	time.Sleep(over + 2*time.Second)
	used = cpu(t) - used
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	slices.Sort(late)
	if len(late) != count {
		t.Errorf("%d of %d were handled", len(late), count)
	}
	t.Logf("late p50 %v, p99 %v, max %v; early %d; %v of the processor for each, %.1f %% of one core",
		late[len(late)/2], late[len(late)*99/100], late[len(late)-1], early, used/count, 100*used.Seconds()/over.Seconds())
}

// TestMeasureAMillionStandingTimers measures the memory and the files of tasks
// that are not due, and the time to open them after a kill.
func TestMeasureAMillionStandingTimers(t *testing.T) {
	measuring(t)
	const count = 1_000_000
	place := filepath.Join(t.TempDir(), "timers")
	began := time.Now()
	c := start(t, "stand", place, filepath.Join(t.TempDir(), "journal"), fmt.Sprint(count))
	c.ready(t)
	for c.exists() && !fileExists(filepath.Join(place, "..", "stood")) {
		time.Sleep(100 * time.Millisecond) // between two checks
	}
	t.Logf("created in %v", time.Since(began).Round(time.Second))
	t.Logf("memory of the process with them: %d MiB", c.rss(t)>>20)
	c.kill()
	var bytes int64
	err := filepath.WalkDir(place, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		bytes += info.Size()
		return err
	})
	fatal.If(t, err)
	began = time.Now()
	n, err := foliot.Open(t.Context(), dir.Store(place), nil, foliot.Options{Logger: slog.New(slog.DiscardHandler)})
	fatal.If(t, err)
	t.Logf("%d bytes each; opened %v after the kill", bytes/count, time.Since(began).Round(time.Millisecond))
	if i, err := n.Get(t.Context(), fmt.Sprint("m", count)); err != nil || i.State != foliot.StateScheduled {
		t.Errorf("the last one is %+v, %v", i, err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// exists reports whether the process has not ended.
func (c *child) exists() bool { return c.cmd.Process.Signal(syscall.Signal(0)) == nil }

// rss returns the resident memory of the process.
func (c *child) rss(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", c.cmd.Process.Pid))
	if err != nil {
		t.Skip(err)
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * int64(os.Getpagesize())
}
