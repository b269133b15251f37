package redis

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

const (
	zombieQueue = "zombies"
	zombieHerd  = 1500                   // tasks due at one instant: a node claims hundreds together, and sends them for some milliseconds
	zombieStop  = 40 * time.Millisecond  // the node is stopped at most this long after the due time
	zombieAhead = 500 * time.Millisecond // the tasks are created this long before it
	zombieQuiet = time.Second            // time in which a woken node could send cancelled tasks
	zombieShort = time.Second            // the timeout of every second task; all other tasks have the server's
)

// Zombie: a node is stopped by SIGSTOP during the deliveries of a herd, until
// its leases have ended and other nodes have taken back its claimed tasks. Then
// half of the outstanding tasks are cancelled, before the node continues. The
// node must send and settle none of them. While a request may be on the wire,
// the reply to a cancel is 202 instead of 200. How long that may be depends on
// the timeout of the task. Both replies must occur.
func Zombie(ctx context.Context, t *harness.Run) {
	n := t.StartNodes(ctx, ".", 3)
	z := &zombies{Environment: n, silent: map[string]time.Time{}, fromHands: map[int]int{}}
	for i := 0; i < t.Options.Zombies || i < 4*t.Options.Zombies && !z.bothReplies(); i++ {
		t.Part(fmt.Sprintf("round %d", i), func() { z.round(ctx, i) })
		if (i+1)%max(2, t.Options.Zombies/20) == 0 {
			t.Note("stopped %d times", i+1)
		}
	}
	n.AwaitPromised(ctx, 60*time.Second)
	t.Note("tasks that stopped nodes had not delivered: %d; claimed: %d", z.left, z.claimed)
	t.Must(z.bothReplies(), "claimed tasks by the reply to their cancel: 200: %d, 202: %d, others: %d",
		z.fromHands[200], z.fromHands[202], z.fromHands[0])
	z.mustStayCancelled(ctx)
	v := n.Conclude(ctx, harness.Phases{})
	t.Must(len(v.AfterCancel) == 0, "delivered after a cancel's 200: %d%s", len(v.AfterCancel), verify.Examples(v.AfterCancel))
	z.mustStaySilent()
}

// zombies is the state of the series.
type zombies struct {
	*harness.Environment
	silent map[string]time.Time // tasks that were cancelled before their node continued, with the time of the reply

	left, claimed int
	fromHands     map[int]int // cancels of claimed tasks, by status; zero means any other
}

// bothReplies reports whether cancels of claimed tasks had both replies. A stop can
// fall before the claims, or after the last request.
func (z *zombies) bothReplies() bool { return z.fromHands[200] > 0 && z.fromHands[202] > 0 }

// round is one stop. The queue is paused while the node sleeps, so the tasks that
// other nodes take back wait and can be cancelled.
func (z *zombies) round(ctx context.Context, i int) {
	index := z.Run.Rand.IntN(len(z.Servers))
	victim, other := z.Endpoints.List[index], z.Endpoints.List[(index+1)%len(z.Servers)]
	due := timing.DueIn(zombieAhead)
	tasks := make([]wire.TaskInput, zombieHerd)
	for k := range tasks {
		tasks[k] = harness.Task(fmt.Sprintf("zombie-%d-%d", i, k), z.Receiver.URL(), due)
		tasks[k].Queue = zombieQueue
		if k%2 == 0 {
			tasks[k].Timeout = zombieShort.String()
		}
	}
	z.promise(ctx, other, tasks, due)
	timing.Until(ctx, due.Add(time.Duration(z.Run.Rand.Int64N(int64(zombieStop)))))
	wake := z.stopNode(index)
	victim.Closed.Store(true)
	defer victim.Closed.Store(false)
	timing.Pause(ctx, verify.WireDelay)
	harness.Check(other.Do(ctx, http.MethodPost, "/queues/"+zombieQueue+"/pause", wire.PauseInput{}, nil))
	claimed, others := z.outstanding(ctx, other, tasks)
	harness.Pause(ctx, max(z.Run.Options.ShardLease, z.Run.Options.TaskLease())+zombieShort+time.Second)
	z.cancelHalf(ctx, other, claimed, func(status int) { z.fromHands[status]++ })
	z.cancelHalf(ctx, other, others, func(int) {})
	wake()
	timing.Pause(ctx, zombieQuiet)
	harness.Check(other.Do(ctx, http.MethodPost, "/queues/"+zombieQueue+"/resume", nil, nil))
	harness.OK(z.Servers[index].Ready(ctx, 20*time.Second))
	timing.Pause(ctx, time.Second+z.Run.Options.ShardLease/2) // the node owns shards again: the next round may stop it again
}

// promise creates tasks, and logs that they were accepted.
func (z *zombies) promise(ctx context.Context, at *harness.Endpoint, tasks []wire.TaskInput, due time.Time) {
	harness.Check(at.CreateAll(ctx, tasks))
	for i := range tasks {
		harness.Check(z.Promised(tasks[i].Name, due))
	}
}

// stopNode stops a node. wake lets it continue, once.
func (z *zombies) stopNode(i int) (wake func()) {
	process := z.Servers[i].Cmd.Process
	harness.Check(process.Signal(syscall.SIGSTOP))
	wake = sync.OnceFunc(func() { _ = process.Signal(syscall.SIGCONT) }) // it is stopped: it has not ended
	z.Run.Cleanup(wake)                                                  // even after an error: a stopped process would not end
	z.RecordFault("SIGSTOP", time.Now())
	return wake
}

// outstanding returns the tasks that are not delivered: those that the stopped
// node has claimed, and further tasks.
func (z *zombies) outstanding(ctx context.Context, at *harness.Endpoint, tasks []wire.TaskInput) (claimed, others []string) {
	states := make([]string, len(tasks))
	err := timing.InParallel(len(tasks), 16, func(i int) error {
		t, err := at.Get(ctx, tasks[i].Name)
		states[i] = t.State
		return err
	})
	for i, in := range tasks {
		switch {
		case states[i] == "running" && z.Receiver.Arrivals(in.Name) == 0:
			claimed = append(claimed, in.Name)
		case states[i] != "delivered":
			others = append(others, in.Name)
		}
	}
	z.left += len(claimed) + len(others)
	z.claimed += len(claimed)
	harness.Check(err)
	return claimed, others
}

// cancelHalf cancels two tasks in a row and leaves the next two, so that it
// cancels tasks with each of the two timeouts. It calls count with each status.
func (z *zombies) cancelHalf(ctx context.Context, at *harness.Endpoint, names []string, count func(status int)) {
	for i, name := range names {
		if i%4 >= 2 {
			continue
		}
		status := at.Cancel(ctx, name)
		now := time.Now()
		harness.Check(z.Cancelled.Append(verify.Cancelled{Name: name, Status: status, At: now}))
		if status != http.StatusOK && status != http.StatusAccepted {
			status = 0
		} else {
			z.silent[name] = now
		}
		count(status)
	}
}

// mustStayCancelled reads the cancelled tasks: a settlement of the woken node must
// not have changed them.
func (z *zombies) mustStayCancelled(ctx context.Context) {
	var changed []string
	for name := range z.silent {
		t := harness.OK(z.Endpoints.Next().Get(ctx, name))
		if t.State != "cancelled" {
			changed = append(changed, name+" is "+t.State)
		}
	}
	z.Run.Must(len(changed) == 0, "cancelled tasks that were settled otherwise: %d of %d%s", len(changed), len(z.silent), verify.Examples(changed))
}

// mustStaySilent judges the callbacks of a woken node, for any status of the cancel.
func (z *zombies) mustStaySilent() {
	e := z.Evidence()
	var sent []string
	for _, a := range e.Arrived {
		if at, cancelled := z.silent[a.Name]; cancelled && a.At.After(at) {
			sent = append(sent, a.Name)
		}
	}
	z.Run.Must(len(sent) == 0, "cancelled tasks that a woken node sent: %d%s", len(sent), verify.Examples(sent))
}
