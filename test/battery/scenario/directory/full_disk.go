package directory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/journal"
	"github.com/foliot/foliot/test/battery/harness/system"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// FullDisk fills the disk of a directory while tasks are created, changed,
// cancelled and delivered. The server ends. In some runs it is started on the
// full disk. It continues when the disk is larger. Each run has a new server
// and a new disk.
func FullDisk(ctx context.Context, t *harness.Run) {
	var all verify.DiskVerdict
	for i := range t.Options.Fills {
		t.Part(fmt.Sprintf("run %d", i), func() { all.Add(openDiskRun(ctx, t, i).run(ctx)) })
		if (i+1)%25 == 0 {
			t.Note("%d runs, %d tasks accepted", i+1, all.Accepted)
		}
	}
	reportDisk(&all, t)
}

const (
	fullDiskBytes = 32 << 20 // of the small file system
	freedBytes    = 4 << 30  // of it, when it is enlarged
	fullDiskRate  = 150      // creates a second
	fullDiskDue   = 3 * time.Second
)

// diskRun is one run of FullDisk. Its directory has the log of the server and
// the requests. The store is on the small file system.
type diskRun struct {
	*harness.Environment
	disk     string
	dice     *rand.Rand
	requests *journal.Journal
	slow     atomic.Int64 // how long the receiver takes, so that attempts are under way when the server ends
	spares   int          // spare tasks that were cancelled
}

func openDiskRun(ctx context.Context, t *harness.Run, i int) (r *diskRun) {
	r = &diskRun{dice: rand.New(rand.NewPCG(t.Options.Seed, uint64(i)))}
	r.Environment = t.PrepareEnvironment(fmt.Sprintf("%04d", i))
	r.requests = harness.OK(journal.Open(r.Path("requests")))
	r.After(func() { _ = r.requests.Close() }) // each line was written
	r.disk = r.Path("disk")
	unmount := harness.OK(system.MountNearlyFull(r.disk, fullDiskBytes, r.room()))
	r.After(unmount)
	r.slow.Store(int64([]time.Duration{0, 100 * time.Millisecond, 300 * time.Millisecond, 4 * time.Second}[r.dice.IntN(4)]))
	r.Receiver.Before = func(string) { timing.Pause(ctx, time.Duration(r.slow.Load())) }
	r.Server.Dir = filepath.Join(r.disk, "data")
	return r
}

// room returns how many bytes the server has at first. The smallest result is
// less than a log reserves for itself, so that single writes fail. The largest
// is enough for some logs.
func (r *diskRun) room() int64 {
	const least, most = 5 << 20, 30 << 20
	return least + r.dice.Int64N(most-least)
}

// left returns how many bytes remain when another program has filled the disk.
func (r *diskRun) left() int64 {
	return r.dice.Int64N([]int64{1, 64 << 10, 1 << 20}[r.dice.IntN(3)])
}

// run fills the disk once, and judges.
func (r *diskRun) run(ctx context.Context) verify.DiskVerdict {
	harness.Check(r.Server.Run(ctx))
	r.makeSpares(ctx)
	seed := r.dice.Uint64()
	stop := timing.InBackground(ctx, func(ctx context.Context) {
		timing.AtRate(ctx, fullDiskRate, func(i int) { r.live(context.WithoutCancel(ctx), seed, i) })
	})
	defer stop()
	ends := r.fill(ctx)
	stop()
	again := r.restart(ctx)
	r.recover(ctx)
	v := r.judge()
	v.Runs, v.Ended, v.Restarts = 1, ends+again, again
	return v
}

// fill lets the disk become full, and returns 1 if the server ended by itself.
// In one of four runs the load alone fills the disk.
func (r *diskRun) fill(ctx context.Context) (ended int) {
	timing.Pause(ctx, 300*time.Millisecond+time.Duration(r.dice.Int64N(int64(1200*time.Millisecond))))
	if r.dice.IntN(4) > 0 {
		harness.Check(system.FillDisk(filepath.Join(r.disk, "filler"), r.left()))
	}
	return r.outlast(ctx, 2500*time.Millisecond)
}

// restart starts the server on the full disk: not at all, a few times, or more
// often than a task may be reclaimed. It returns how often the server ended by
// itself.
func (r *diskRun) restart(ctx context.Context) (ended int) {
	for range []int{0, 0, 1, 2, 3, 13}[r.dice.IntN(6)] {
		ended += r.restartOnce(ctx)
	}
	return ended
}

// restartOnce starts the server on the full disk. In two of three cases the
// server finds some space, begins to deliver, and then loses the space again.
func (r *diskRun) restartOnce(ctx context.Context) (ended int) {
	filler, roomy := filepath.Join(r.disk, "filler"), r.dice.IntN(3) > 0
	room := r.left()
	if roomy {
		room += 6 << 20
	}
	harness.Check(errors.Join(system.FillDisk(filler, room), r.Server.Start()))
	if roomy {
		timing.Pause(ctx, 100*time.Millisecond+time.Duration(r.dice.Int64N(int64(300*time.Millisecond))))
		harness.Check(system.FillDisk(filler, 0))
		r.cancelSpares(ctx)
	}
	return r.outlast(ctx, 100*time.Millisecond+time.Duration(r.dice.Int64N(int64(400*time.Millisecond))))
}

// A start on the full disk writes only if an attempt begins or ends. Each
// cancel of a spare task is a write, and the server ends when the last page of
// the log is full.
const spareTasks = 400

func spareTask(i int) string { return fmt.Sprintf("spare-%d", i) }

func (r *diskRun) makeSpares(ctx context.Context) {
	spares := make([]wire.TaskInput, spareTasks)
	for i := range spares {
		spares[i] = harness.Task(spareTask(i), r.Receiver.URL(), timing.DueIn(24*time.Hour))
	}
	harness.Check(r.Client.CreateAll(ctx, spares))
}

// cancelSpares cancels spare tasks until the server does not answer any more.
func (r *diskRun) cancelSpares(ctx context.Context) {
	for range 30 {
		r.spares++
		if status := r.Client.Cancel(ctx, spareTask(r.spares%spareTasks)); status == 0 || status >= 500 {
			return
		}
	}
}

// outlast waits until the server has ended, and returns 1 if it ended by
// itself. If that takes longer than within, outlast kills the server.
func (r *diskRun) outlast(ctx context.Context, within time.Duration) (ended int) {
	code, alone := r.Server.Outlast(ctx, within)
	kind := "kill -9"
	if alone {
		kind, ended = fmt.Sprintf("exit %d", code), 1
	}
	harness.Check(ctx.Err())
	r.RecordFault(kind, time.Now())
	return ended
}

// recover makes room, starts the server and waits until no task is open.
func (r *diskRun) recover(ctx context.Context) {
	r.slow.Store(0)
	harness.Check(system.EnlargeDisk(r.disk, freedBytes))
	harness.Check(r.Server.Run(ctx))
	requests := harness.OK(journal.Read[verify.DiskRequest](r.Path("requests")))
	records := harness.OK(journal.Open(r.Path("records")))
	defer func() { _ = records.Close() }() // each line was written
	deadline := time.Now().Add(20 * time.Second)
	for _, q := range requests {
		if q.Op == verify.CreateTask {
			harness.Check(records.Append(r.lastRecord(ctx, q.Name, deadline)))
		}
	}
	timing.Pause(ctx, 200*time.Millisecond) // a second callback would come by now
	harness.Check(r.Server.Stop(10 * time.Second))
	if err := r.RunFoliot(ctx, nil, "doctor", "data", r.Server.Dir); err != nil {
		harness.Fatalf("the directory has faults: %w", err)
	}
}

// lastRecord reads a task until it has ended, or until deadline.
func (r *diskRun) lastRecord(ctx context.Context, name string, deadline time.Time) verify.DiskRecord {
	for {
		status, reply := harness.OK2(r.Client.Call(ctx, http.MethodGet, "/tasks/"+url.PathEscape(name), nil))
		if status == http.StatusNotFound {
			return verify.DiskRecord{Name: name, State: verify.MissingTask}
		}
		var task wire.Task
		if err := json.Unmarshal(reply, &task); err != nil || status != http.StatusOK {
			harness.Fatalf("get %s: status %d: %.300s", name, status, reply)
		}
		open := task.State == "scheduled" || task.State == "running"
		if !open || time.Now().After(deadline) || !timing.Pause(ctx, 20*time.Millisecond) {
			patch, _ := strconv.Atoi(task.Labels[verify.PatchLabel]) // no label: 0
			harness.Check(ctx.Err())
			return verify.DiskRecord{Name: name, State: task.State, Reason: task.Reason, Patch: patch, Reclaims: task.Reclaims}
		}
	}
}

// live creates one task, and may change and cancel it. The actions depend only
// on the seed.
func (r *diskRun) live(ctx context.Context, seed uint64, i int) {
	dice := rand.New(rand.NewPCG(seed, uint64(i)))
	name := fmt.Sprintf("disk-%d", i)
	later := func() time.Time {
		return timing.DueIn(100*time.Millisecond + time.Duration(dice.Int64N(int64(fullDiskDue))))
	}
	body := func() json.RawMessage { return harness.RandomString(i%26, 2*(1+dice.IntN(32<<10))) }
	wait := func() { timing.Pause(ctx, time.Duration(dice.Int64N(int64(500*time.Millisecond)))) }

	due := later()
	in := harness.Task(name, r.Receiver.URL(), due)
	in.HTTP.Body = body()
	if r.request(ctx, verify.DiskRequest{Name: name, Op: verify.CreateTask, Due: due}, http.MethodPost, "/tasks", in)/100 != 2 {
		return
	}
	path := "/tasks/" + name
	for n := range dice.IntN(3) {
		wait()
		due, label := later(), strconv.Itoa(n+1)
		patch := map[string]any{"at": wire.FormatTime(due), "http": map[string]any{"body": body()}, "labels": map[string]string{verify.PatchLabel: label}}
		r.request(ctx, verify.DiskRequest{Name: name, Op: verify.PatchTask, Due: due, Patch: n + 1}, http.MethodPatch, path, patch)
	}
	if dice.IntN(2) == 0 {
		wait()
		r.request(ctx, verify.DiskRequest{Name: name, Op: verify.CancelTask}, http.MethodDelete, path, nil)
	}
}

// request makes a request, logs it with its answer, and returns the status.
// Zero means that no answer came.
func (r *diskRun) request(ctx context.Context, q verify.DiskRequest, method, path string, body any) int {
	q.Sent = time.Now()
	status, reply, err := r.Client.Call(ctx, method, path, body)
	q.Status, q.At = status, time.Now()
	if err != nil {
		q.Error = err.Error()
		q.Unsent = errors.Is(err, syscall.ECONNREFUSED)
	}
	if status/100 != 2 {
		var p wire.Problem
		_ = json.Unmarshal(reply, &p) // without a reply there is no code
		q.Code = p.Code
	}
	if err := r.requests.Append(q); err != nil {
		return 0 // a change without a log entry was not promised
	}
	return status
}

// judge reads the logs. If a task is in a wrong state, judge keeps the store
// too.
func (r *diskRun) judge() verify.DiskVerdict {
	var e verify.DiskEvidence
	e.Evidence = r.Evidence()
	e.Requests = harness.OK(journal.Read[verify.DiskRequest](r.Path("requests")))
	e.Records = harness.OK(journal.Read[verify.DiskRecord](r.Path("records")))
	v := verify.JudgeDisk(e)
	if len(v.Wrong) == 0 && len(v.Lost) == 0 {
		return v
	}
	kept := r.Path("data")
	harness.Check(os.CopyFS(kept, os.DirFS(r.Server.Dir)))
	r.Run.Note("the store of %s is kept in %s", filepath.Base(r.Dir), kept)
	return v
}
