package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// redisFull: a Redis whose memory ends refuses creates, and nothing else.
func redisFull(ctx context.Context, t *trial) error {
	r, end, err := t.redis("--maxmemory", "64mb")
	if err != nil {
		return err
	}
	defer end()
	n, err := t.nodesIn(".", 2, "redis://"+r.Addr)
	if err != nil {
		return err
	}
	defer n.close()
	if err := n.startAll(ctx); err != nil {
		return err
	}
	f := &fullness{nodes: n, addr: r.Addr}
	for _, step := range []func(context.Context) error{f.prepare, f.fill, f.refused, f.goesOn, f.empty} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	v, err := n.conclude(ctx)
	if err != nil {
		return err
	}
	t.must(len(v.AfterCancel) == 0, "delivered after a cancel's 200: %d%s", len(v.AfterCancel), verify.Examples(v.AfterCancel))
	return nil
}

// fullness is the state of redisFull.
type fullness struct {
	*nodes
	addr  string
	names []string // due while it is full
}

const (
	fullTasks   = 300
	fullCancels = 50
)

// prepare makes tasks that are due while the server is full, and some that are
// cancelled then.
func (f *fullness) prepare(ctx context.Context) error {
	for i := range fullTasks + fullCancels {
		name, due := fmt.Sprintf("full-%d", i), timing.DueIn(4*time.Second+time.Duration(i)*10*time.Millisecond)
		if i >= fullTasks {
			due = timing.DueIn(30 * time.Second)
		} else {
			f.names = append(f.names, name)
		}
		if _, err := f.doors.create(ctx, input(name, f.receiver.URL(), due)); err != nil {
			return err
		}
		if err := f.promised(name, due); err != nil {
			return err
		}
	}
	return nil
}

// fill leaves the server no memory at all: its limit is 64 MB.
func (f *fullness) fill(ctx context.Context) error {
	reply, err := redistest.Command(ctx, f.addr, "SETRANGE", "filler", strconv.Itoa(64<<20), "x")
	if err != nil || !strings.HasPrefix(reply, ":") {
		return fmt.Errorf("fill Redis: it said %q, error %w", reply, err)
	}
	timing.Pause(ctx, 1500*time.Millisecond)
	return ctx.Err()
}

// refused: creates are, as docs/api.md says.
func (f *fullness) refused(ctx context.Context) error {
	refused := 0
	const tries = 20
	for i := range tries {
		status, reply, err := f.doors.next().call(ctx, http.MethodPost, "/tasks", input(fmt.Sprintf("refused-%d", i), f.receiver.URL(), timing.DueIn(time.Second)))
		if err != nil {
			return err
		}
		if status == http.StatusServiceUnavailable && strings.Contains(string(reply), `"capacity"`) {
			refused++
		} else {
			f.t.note("a create was answered %d: %.200s", status, reply)
		}
	}
	f.t.must(refused == tries, "creates refused with 503 and capacity: %d of %d", refused, tries)
	return nil
}

// goesOn: claims, settlements and cancels do.
func (f *fullness) goesOn(ctx context.Context) error {
	cancels := 0
	for i := range fullCancels {
		name := fmt.Sprintf("full-%d", fullTasks+i)
		status := f.doors.cancel(ctx, name)
		if err := f.cancelled.Append(verify.Cancelled{Name: name, Status: status, At: time.Now()}); err != nil {
			return err
		}
		if status == http.StatusOK {
			cancels++
		}
	}
	f.t.must(cancels == fullCancels, "cancels answered 200 while it is full: %d of %d", cancels, fullCancels)
	missing := f.receiver.AwaitAll(ctx, f.names, 15*time.Second)
	f.t.must(missing == 0, "delivered while it is full: %d of %d", fullTasks-missing, fullTasks)
	open := 0
	for _, name := range f.names {
		task, err := f.doors.next().get(ctx, name)
		if err != nil {
			return err
		}
		if task.State != "delivered" {
			open++
		}
	}
	f.t.must(open == 0, "delivered and not settled: %d", open)
	return nil
}

// empty: with memory, creates are taken again.
func (f *fullness) empty(ctx context.Context) error {
	if _, err := redistest.Command(ctx, f.addr, "DEL", "filler"); err != nil {
		return err
	}
	began := time.Now()
	due := timing.DueIn(2 * time.Second)
	if _, err := f.doors.create(ctx, input("afterwards", f.receiver.URL(), due)); err != nil {
		return err
	}
	took := time.Since(began)
	f.t.must(took < 5*time.Second, "creates are taken again %s after there is memory", verify.Millis(took))
	return f.promised("afterwards", due)
}
