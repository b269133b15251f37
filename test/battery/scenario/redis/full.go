package redis

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// Full: when the memory of Redis is full, servers refuse only creates.
func Full(ctx context.Context, t *harness.Run) {
	r := t.StartRedis("redis", "--maxmemory", "64mb")
	n := t.PrepareNodes(".", 2, "redis://"+r.Addr)
	n.StartAll(ctx)
	f := &fullness{Environment: n, addr: r.Addr}
	f.prepare(ctx)
	f.fill(ctx)
	f.refused(ctx)
	f.goesOn(ctx)
	f.empty(ctx)
	v := n.Conclude(ctx, harness.Phases{})
	t.Must(len(v.AfterCancel) == 0, "delivered after a cancel's 200: %d%s", len(v.AfterCancel), verify.Examples(v.AfterCancel))
}

// fullness is the state of Full.
type fullness struct {
	*harness.Environment
	addr  string
	names []string // due while it is full
}

const (
	fullTasks   = 300
	fullCancels = 50
)

// prepare makes tasks that are due while the server is full, and some that are
// cancelled then.
func (f *fullness) prepare(ctx context.Context) {
	for i := range fullTasks + fullCancels {
		name, due := fmt.Sprintf("full-%d", i), timing.DueIn(4*time.Second+time.Duration(i)*10*time.Millisecond)
		if i >= fullTasks {
			due = timing.DueIn(30 * time.Second)
		} else {
			f.names = append(f.names, name)
		}
		harness.OK(f.Endpoints.Create(ctx, harness.Task(name, f.Receiver.URL(), due)))
		harness.Check(f.Promised(name, due))
	}
}

// fill uses up the memory of the Redis server, which has a limit of 64 MB.
func (f *fullness) fill(ctx context.Context) {
	reply, err := redistest.Command(ctx, f.addr, "SETRANGE", "filler", strconv.Itoa(64<<20), "x")
	if err != nil || !strings.HasPrefix(reply, ":") {
		harness.Fatalf("fill Redis: the reply is %q, error %w", reply, err)
	}
	harness.Pause(ctx, 1500*time.Millisecond)
}

// refused checks that creates are refused as docs/api.md describes.
func (f *fullness) refused(ctx context.Context) {
	refused := 0
	const tries = 20
	for i := range tries {
		status, reply := harness.OK2(f.Endpoints.Next().Call(ctx, http.MethodPost, "/tasks", harness.Task(fmt.Sprintf("refused-%d", i), f.Receiver.URL(), timing.DueIn(time.Second))))
		if status == http.StatusServiceUnavailable && strings.Contains(string(reply), `"capacity"`) {
			refused++
		} else {
			f.Run.Note("a create was answered %d: %.200s", status, reply)
		}
	}
	f.Run.Must(refused == tries, "creates refused with 503 and capacity: %d of %d", refused, tries)
}

// goesOn checks that claims, settlements and cancels still succeed.
func (f *fullness) goesOn(ctx context.Context) {
	cancels := 0
	for i := range fullCancels {
		name := fmt.Sprintf("full-%d", fullTasks+i)
		status := f.Endpoints.Cancel(ctx, name)
		harness.Check(f.Cancelled.Append(verify.Cancelled{Name: name, Status: status, At: time.Now()}))
		if status == http.StatusOK {
			cancels++
		}
	}
	f.Run.Must(cancels == fullCancels, "cancels answered 200 while it is full: %d of %d", cancels, fullCancels)
	missing := f.Receiver.AwaitAll(ctx, f.names, 15*time.Second)
	f.Run.Must(missing == 0, "delivered while it is full: %d of %d", fullTasks-missing, fullTasks)
	open := 0
	for _, name := range f.names {
		task := harness.OK(f.Endpoints.Next().Get(ctx, name))
		if task.State != "delivered" {
			open++
		}
	}
	f.Run.Must(open == 0, "delivered and not settled: %d", open)
}

// empty frees memory, and checks that creates are accepted again.
func (f *fullness) empty(ctx context.Context) {
	harness.OK(redistest.Command(ctx, f.addr, "DEL", "filler"))
	began := time.Now()
	due := timing.DueIn(2 * time.Second)
	harness.OK(f.Endpoints.Create(ctx, harness.Task("afterwards", f.Receiver.URL(), due)))
	took := time.Since(began)
	f.Run.Must(took < 5*time.Second, "creates are taken again %s after there is memory", verify.Millis(took))
	harness.Check(f.Promised("afterwards", due))
}
