package embed

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
)

// ignoreEnded returns err, or nil if err means that the task runs or has ended.
func ignoreEnded(err error) error {
	if errors.Is(err, foliot.ErrEnded) || errors.Is(err, foliot.ErrRunning) || errors.Is(err, foliot.ErrNotFound) {
		return nil
	}
	return err
}

// child is a process of the program under test.
type child struct {
	cmd   *exec.Cmd
	stdin io.Closer
	open  chan bool // receives true when the store is open
}

// start starts a process in the given mode. The cleanup of t kills it.
func start(t *testing.T, mode, place, journal, run string) *child {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), os.Args[0])
	cmd.Env = append(os.Environ(), "FOLIOT_EMBED_MODE="+mode, "FOLIOT_EMBED_STORE="+place, "FOLIOT_EMBED_JOURNAL="+journal, "FOLIOT_EMBED_RUN="+run)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	fatal.If(t, err)
	out, err := cmd.StdoutPipe()
	fatal.If(t, err)
	fatal.If(t, cmd.Start())
	c := &child{cmd, stdin, make(chan bool, 1)}
	go func() { c.open <- bufio.NewScanner(out).Scan() }()
	t.Cleanup(func() { c.kill() })
	return c
}

// ready waits until the store is open.
func (c *child) ready(t *testing.T) {
	t.Helper()
	select {
	case open := <-c.open:
		if !open {
			t.Fatal("the program ended before its store was open")
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the store was not open after 30 s")
	}
}

// kill ends the process as kill -9 does.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
	_ = c.stdin.Close()
}

// kills returns the number of kills of each test.
func kills() int {
	if n, err := strconv.Atoi(os.Getenv("FOLIOT_KILLS")); err == nil {
		return n
	}
	return 4
}

func TestAKilledProgramLosesNoTaskOnADirectory(t *testing.T) {
	place, journal := t.TempDir(), filepath.Join(t.TempDir(), "journal")
	for i := range kills() {
		c := start(t, "load", place, journal, fmt.Sprint(i))
		c.ready(t)
		time.Sleep(time.Duration(100+rand.IntN(500)) * time.Millisecond) // the process works until the kill; there is no event to wait for
		c.kill()
	}
	drain(t, place, journal)
	judge(t, journal)
}

func TestKilledProgramsLoseNoTaskOnARedis(t *testing.T) {
	r := redistest.New(t)
	place, journal := "redis://"+r.Addr, filepath.Join(t.TempDir(), "journal")
	running := make([]*child, 3)
	for i := range running {
		running[i] = start(t, "load", place, journal, fmt.Sprint("first", i))
		running[i].ready(t)
	}
	for i := range kills() {
		time.Sleep(time.Duration(100+rand.IntN(500)) * time.Millisecond) // the processes work until the kill
		at := rand.IntN(len(running))
		running[at].kill()
		running[at] = start(t, "load", place, journal, fmt.Sprint(i))
		running[at].ready(t)
	}
	for _, c := range running {
		c.kill()
	}
	drain(t, place, journal)
	judge(t, journal)
}

// drain runs the program without load until all tasks have been handled, but at
// most a minute, and then 2 seconds more.
func drain(t *testing.T, place, journal string) {
	t.Helper()
	c := start(t, "drain", place, journal, "")
	c.ready(t)
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) && len(open(read(t, journal))) > 0 {
		time.Sleep(100 * time.Millisecond) // between two reads of the journal
	}
	time.Sleep(2 * time.Second) // for attempts that must not come
	c.kill()
}

// open returns the tasks that were confirmed and have not been handled. It omits
// the tasks that the program tried to cancel, because a kill may have hidden the
// result.
func open(events []event) map[string]bool {
	left := map[string]bool{}
	for _, e := range events {
		if e.what == "created" {
			left[e.name] = true
		}
	}
	for _, e := range events {
		if e.what == "handled" || e.what == "cancelling" {
			delete(left, e.name)
		}
	}
	return left
}

// judge checks a journal: no confirmed task is lost, none starts early, and none
// starts after a cancel that reported it as pending.
func judge(t *testing.T, journal string) {
	t.Helper()
	events := read(t, journal)
	dues, cancelled, times := map[string][]int64{}, map[string]int64{}, map[string]int{}
	for _, e := range events { // all due times that a task may have had
		switch e.what {
		case "creating", "moving":
			dues[e.name] = append(dues[e.name], e.due)
		case "cancelled":
			cancelled[e.name] = e.at
		}
	}
	early, after := 0, 0
	for _, e := range events {
		if e.what != "handled" {
			continue
		}
		times[e.name]++
		first := dues[e.name][0]
		for _, d := range dues[e.name] {
			first = min(first, d)
		}
		if e.at < first*1000 || e.at < e.due*1000 {
			early++
			t.Errorf("%s started %d µs early", e.name, max(first, e.due)*1000-e.at)
		}
		if at, ok := cancelled[e.name]; ok && e.at > at {
			after++
			t.Errorf("%s started %d µs after its cancel", e.name, e.at-at)
		}
	}
	lost := open(events)
	for name := range lost {
		t.Errorf("%s was created and never handled", name)
	}
	twice := 0
	for _, n := range times {
		if n > 1 {
			twice++
		}
	}
	t.Logf("%d kills: %d tasks handled, lost %d, early %d, after a cancel %d, handled more than once %d; %d cancelled",
		kills(), len(times), len(lost), early, after, twice, len(cancelled))
	if len(times) < 10 {
		t.Error("too few tasks for a verdict: " + strings.Join(os.Args, " "))
	}
}
