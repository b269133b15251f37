//go:build unix

package wheel

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

const stallChild = "WHEEL_STALL_CHILD"

// The same with a process that is really stopped, as by a debugger, a freezer
// or an overloaded machine.
func TestAStoppedProcessFiresOnTimeAfterwards(t *testing.T) {
	if os.Getenv(stallChild) != "" {
		stallInChild()
		return
	}
	if testing.Short() {
		t.Skip("takes three seconds")
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestAStoppedProcessFiresOnTimeAfterwards$")
	child.Env = append(os.Environ(), stallChild+"=1")
	out, err := child.StdoutPipe()
	fatal.If(t, err)
	fatal.If(t, child.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		switch line := lines.Text(); {
		case line == "armed":
			stop(t, child.Process, 1500*time.Millisecond)
		case strings.HasPrefix(line, "late "):
			late, err := time.ParseDuration(strings.TrimPrefix(line, "late "))
			if t.Log(line); err != nil || late < 0 || late > 500*time.Millisecond {
				t.Errorf("a timer of 3 s fired %v late after the process was stopped for 1.5 s", late)
			}
		}
	}
	if err := child.Wait(); err != nil {
		t.Error(err)
	}
}

func stop(t *testing.T, p *os.Process, d time.Duration) {
	fatal.If(t, p.Signal(syscall.SIGSTOP))
	time.Sleep(d)
	fatal.If(t, p.Signal(syscall.SIGCONT))
}

// stallInChild prints a line when its timers are set, and then how late each of
// them fired.
func stallInChild() {
	start := time.Now()
	starts := []time.Time{start, start.Round(0)} // compared with the wall clock too
	w := NewBatch(Config{Shards: 1, Tick: 10 * time.Millisecond}, func(batch []Expired[int]) {
		for _, e := range batch {
			fmt.Println("late", time.Since(starts[e.Value])-3*time.Second)
		}
	})
	w.Add(3*time.Second, 0)
	w.AddAt(start.Add(3*time.Second), 1)
	fmt.Println("armed")
	for w.Len() > 0 {
		time.Sleep(10 * time.Millisecond)
	}
	if err := w.Shutdown(context.Background()); err != nil {
		panic(err)
	}
}
