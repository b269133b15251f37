package embed

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/dir"
	"github.com/foliot/foliot/postgres"
	"github.com/foliot/foliot/redis"
)

// note is the kind of the program under test. Its argument is the due time in
// milliseconds.
var note = foliot.NewKind[int64]("note", foliot.Backoff(50*time.Millisecond, time.Second))

// mode selects the work of a process of this test binary. An empty mode runs the
// tests. The others run program.
var mode = os.Getenv("FOLIOT_EMBED_MODE")

func TestMain(m *testing.M) {
	if mode == "" {
		os.Exit(m.Run())
	}
	if err := program(os.Getenv("FOLIOT_EMBED_STORE"), os.Getenv("FOLIOT_EMBED_RUN")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// journal is a file of lines, which outlives a kill. Each line has the time of
// its event in microseconds.
type journal struct {
	mu sync.Mutex
	f  *os.File
}

func (j *journal) note(what, name string, args ...int64) {
	var line strings.Builder
	fmt.Fprintf(&line, "%d %s %s", time.Now().UnixMicro(), what, name)
	for _, a := range args {
		fmt.Fprintf(&line, " %d", a)
	}
	line.WriteByte('\n')
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.f.WriteString(line.String()); err != nil {
		panic(err)
	}
}

// storeOf returns the store at place: a URL, or a directory.
func storeOf(place string) (foliot.Store, error) {
	switch {
	case strings.HasPrefix(place, "postgres:"):
		return postgres.Parse(place)
	case strings.Contains(place, "://"):
		return redis.Parse(place)
	}
	return dir.Store(place), nil
}

// program runs tasks of the kind note, and writes each start to the journal. In
// the mode "load" it also creates, moves and cancels tasks, until it is killed.
func program(place, run string) error {
	f, err := os.OpenFile(os.Getenv("FOLIOT_EMBED_JOURNAL"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	j := &journal{f: f}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() { // standard input ends with the test, even if the test crashes
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	mux := new(foliot.Mux)
	note.Handle(mux, func(_ context.Context, t *foliot.Task[int64]) error {
		j.note("handled", t.Name, t.Due.UnixMilli(), int64(t.Attempt))
		if strings.HasSuffix(t.Name, "-exits") || strings.HasSuffix(t.Name, "-exits-twice") && t.Attempt < 3 {
			os.Exit(4) // as a bug in the program would
		}
		return nil
	})
	var orders *orderShop
	if strings.HasPrefix(mode, "shop") {
		if orders, err = openShop(ctx, place, mux); err != nil {
			return err
		}
		defer orders.pool.Close()
	}
	store, err := storeOf(place)
	if err != nil {
		return err
	}
	n, err := foliot.Open(ctx, store, mux, foliot.Options{Grace: time.Second, Lease: 2 * time.Second, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	defer n.Close()
	fmt.Println("open")
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	switch mode {
	case "load":
		go load(ctx, n, j, run)
	case "shop":
		go orders.load(ctx, n, run)
	case "seed": // run has the names of tasks that are due at once
		for _, name := range strings.Fields(run) {
			if _, err := note.In(ctx, n, name, 0, 0); err != nil && !errors.Is(err, foliot.ErrExists) {
				return err
			}
		}
	}
	return <-ended
}

// load creates tasks until ctx ends, and moves and cancels some of them.
func load(ctx context.Context, n *foliot.Node, j *journal, run string) {
	var work sync.WaitGroup
	for w := range 4 {
		work.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				name := fmt.Sprintf("t-%s-%d-%d", run, w, i)
				if err := one(ctx, n, j, name); err != nil && ctx.Err() == nil {
					fmt.Fprintln(os.Stderr, name, err)
					time.Sleep(20 * time.Millisecond)
				}
			}
		})
	}
	work.Wait()
}

// one creates a task. It moves one task in five, and cancels one task in five.
func one(ctx context.Context, n *foliot.Node, j *journal, name string) error {
	due := time.Now().Add(time.Duration(rand.IntN(600)) * time.Millisecond)
	j.note("creating", name, due.UnixMilli())
	if _, err := note.At(ctx, n, name, due, due.UnixMilli()); err != nil {
		return err
	}
	j.note("created", name, due.UnixMilli())
	switch rand.IntN(5) {
	case 0:
		j.note("cancelling", name)
		c, err := n.Cancel(ctx, name)
		if err != nil {
			return ignoreEnded(err)
		}
		if !c.UnderWay {
			j.note("cancelled", name)
		}
	case 1:
		later := time.Now().Add(time.Duration(rand.IntN(900)) * time.Millisecond)
		j.note("moving", name, later.UnixMilli())
		if _, err := n.Move(ctx, name, foliot.At(later)); err != nil {
			return ignoreEnded(err)
		}
		j.note("moved", name, later.UnixMilli())
	}
	return nil
}

// event is a line of a journal.
type event struct {
	at         int64 // microseconds
	what, name string
	due        int64 // milliseconds; 0: none
}

// read returns the events of a journal.
func read(t *testing.T, path string) (events []event) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		parts := strings.Fields(lines.Text())
		if len(parts) < 3 {
			continue // a kill has cut the line
		}
		at, err := strconv.ParseInt(parts[0], 10, 64)
		if err != nil {
			t.Fatalf("a line of the journal has no time: %q", lines.Text())
		}
		e := event{at: at, what: parts[1], name: parts[2]}
		if len(parts) > 3 {
			e.due, _ = strconv.ParseInt(parts[3], 10, 64)
		}
		events = append(events, e)
	}
	return events
}
