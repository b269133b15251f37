package embed

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/dir"
)

// exited waits until the process ends by itself, and returns its exit status. If
// the process still runs after within, exited kills it and returns -1.
func (c *child) exited(within time.Duration) int {
	ended := make(chan int, 1)
	go func() { _ = c.cmd.Wait(); ended <- c.cmd.ProcessState.ExitCode() }()
	select {
	case code := <-ended:
		return code
	case <-time.After(within):
		_ = c.cmd.Process.Kill()
		<-ended
		return -1
	}
}

// A task that ends the process interrupts all tasks that run at the same time.
// So after some ends it runs alone. After ten ends it is dead.
func TestATaskThatEndsTheProcessDiesAfterTenTimesAndItsNeighboursDoNot(t *testing.T) {
	place, journal := t.TempDir(), filepath.Join(t.TempDir(), "journal")
	names := "a b-exits c d-exits-twice e"
	ends := 0
	for ; ends < 30; ends++ {
		c := start(t, "seed", place, journal, names)
		if code := c.exited(4 * time.Second); code == -1 {
			break
		} else if code != 4 {
			t.Fatalf("the process ended with status %d, want 4", code)
		}
	}
	n, err := foliot.Open(t.Context(), dir.Store(place), nil, foliot.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	for name, want := range map[string]foliot.State{"a": foliot.StateDelivered, "b-exits": foliot.StateDead, "c": foliot.StateDelivered, "d-exits-twice": foliot.StateDelivered, "e": foliot.StateDelivered} {
		i, err := n.Get(t.Context(), name)
		if err != nil || i.State != want {
			t.Errorf("%s is %s after %d attempts (%s, %s), %v", name, i.State, i.Attempts, i.Reason, i.LastError, err)
		}
	}
	t.Logf("the process ended %d times", ends)
	if ends < 10 || ends > 20 {
		t.Errorf("the process ended %d times", ends)
	}
}
