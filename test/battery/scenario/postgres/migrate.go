package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// Migrate moves -standing tasks of a paused queue, and one of each other record, from one
// store to the next, so that each kind of store is once the source for each other kind.
// Each move is killed on its way, and made again. In the last store each task fires once.
func Migrate(ctx context.Context, t *harness.Run) {
	st := t.NewEnvironment(ctx, "--egress-allow", "127.0.0.1/32") // a server with tokens closes it
	fast := st.StartFast("127.0.0.1:0")
	harness.Check(st.Client.Do(ctx, http.MethodPost, "/queues/moved/pause", nil, nil))
	first := timing.DueIn(harness.LeadFor(t.Options.Standing))
	n := verify.Numbered{Prefix: "moved", Count: t.Options.Standing, Due: func(i int) time.Time {
		return timing.SpreadOver(first, time.Minute, i, t.Options.Standing).Truncate(time.Millisecond)
	}}
	st.ImportNumbered(ctx, n, "moved", fast.URL())
	paths := oneOfEach(ctx, st)
	for i := range 100 {
		paths = append(paths, "/tasks/"+n.Name(i*(n.Count/100)))
	}
	before := read(ctx, st.Client, paths)
	stopped := time.Now()
	harness.Check(st.StopAll(20 * time.Second))

	from := st.Server.Dir
	for _, to := range []string{
		"redis://" + t.StartRedis("redis-1").Addr, st.Path("data-2"), start(ctx, t).URL(), "redis://" + t.StartRedis("redis-2").Addr, start(ctx, t).URL(), st.Path("data-3"),
	} {
		move(ctx, st, from, to)
		from = to
	}

	st.Server.Dir = from
	harness.Check(st.Server.Run(ctx))
	began := time.Now()
	after := read(ctx, st.Client, paths)
	same := 0
	for i := range paths {
		if bytes.Equal(before[i], after[i]) {
			same++
			continue
		}
		t.Note("%s was %s, and is %s", paths[i], before[i], after[i])
	}
	t.Must(same == len(paths), "replies that are the same in the last store: %d of %d", same, len(paths))
	harness.Check(st.Client.Do(ctx, http.MethodPost, "/queues/moved/resume", nil, nil))
	harness.Check(fast.Await(ctx, n.Count, began, time.Minute))
	st.StopWith(fast)
	v := t.JudgeNumbered(n, fast.Path)
	t.Note("no server ran for %s; then %.0f deliveries a second", began.Sub(stopped).Round(time.Second), v.Rate)
}

// oneOfEach makes a dead task, one that waits for a retry, a schedule, a signing secret and
// a token, which the client uses, and returns the paths that show them.
func oneOfEach(ctx context.Context, st *harness.Environment) (paths []string) {
	c := st.Client
	for _, attempts := range []int{1, 2} {
		in := harness.Task(fmt.Sprint("failed-", attempts), "http://127.0.0.1:9/", timing.DueIn(0))
		in.Retry = &wire.Retry{MaxAttempts: &attempts, MinBackoff: "24h", MaxBackoff: "24h"}
		harness.OK(c.Create(ctx, in))
		harness.Check(redistest.Poll(ctx, func(ctx context.Context) error {
			task, err := c.Get(ctx, in.Name)
			if err == nil && (len(task.Attempts) == 0 || task.State == "running") {
				err = errors.New("it was not tried yet")
			}
			return err
		}))
		paths = append(paths, "/tasks/"+in.Name)
	}
	harness.Check(c.PutSchedule(ctx, "daily", wire.ScheduleInput{ScheduleRule: wire.ScheduleRule{Cron: "0 3 * * *", TimeZone: "Europe/Berlin"}, Task: wire.ScheduledTask{HTTP: wire.HTTPInput{URL: "http://127.0.0.1:9/"}}}))
	harness.OK(c.MakeSecret(ctx, wire.SecretInput{}))
	token := harness.OK(c.MakeToken(ctx, wire.TokenInput{Namespace: "*", Scope: "admin"}))
	st.Client = c.WithToken(token.Token)
	return append(paths, "/schedules/daily", "/secrets", "/queues/moved", "/tasks?state=dead")
}

// read returns the replies to paths.
func read(ctx context.Context, c *harness.Client, paths []string) (replies [][]byte) {
	for _, path := range paths {
		status, reply, err := c.Call(ctx, http.MethodGet, path, nil)
		if err != nil || status != http.StatusOK {
			harness.Fatalf("read %s: status %d: %s: %w", path, status, reply, err)
		}
		replies = append(replies, reply)
	}
	return replies
}

// move moves everything, in a process that is killed on its way, and in another one.
func move(ctx context.Context, st *harness.Environment, from, to string) {
	t := st.Run
	began := time.Now()
	args := []string{"migrate", "--from", from, "--to", to}
	cmd := exec.CommandContext(ctx, st.Server.Binary, args...)
	harness.Check(cmd.Start())
	harness.Pause(ctx, between(t, time.Second/5, time.Second))
	_ = cmd.Process.Kill() // unless it has ended, as the check below sees
	_ = cmd.Wait()
	killed := time.Since(began)
	var moved struct{ Tasks int }
	harness.Check(st.RunFoliot(ctx, &moved, args...))
	t.Must(!cmd.ProcessState.Success() && moved.Tasks == t.Options.Standing+2, "%.10s… to %.10s…: killed after %s, %d tasks in %s", from, to, verify.Millis(killed), moved.Tasks, time.Since(began).Round(time.Second/10))
}
