package harness

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

const (
	LoadRate    = 500             // creates a second
	loadDue     = 3 * time.Second // tasks are due up to this long ahead
	moveBy      = time.Second
	MaxInFlight = 1024 // attempts that a server may have under way, flag --concurrency
)

// loadQueues are the queues of a load: the default one, and two without settings.
var loadQueues = [...]string{"", "mail", "reports"}

// Target is the server, or the servers, that a load is sent to.
type Target interface {
	Create(ctx context.Context, in wire.TaskInput) (bool, error)
	Cancel(ctx context.Context, name string) int
}

// Mover is a Target that can move tasks. It reports whether the server has answered that the
// task moved.
type Mover interface {
	Move(ctx context.Context, name string, due time.Time) bool
}

// Load creates tasks at a fixed rate and cancels some of them. Run uses one
// goroutine for each request, and waits for all of them.
type Load struct {
	Environment *Environment
	Target      Target
	Rate        int           // creates a second, even if the server is slow
	DueWithin   time.Duration // tasks are due up to this long from their creation; zero means loadDue
	CancelShare float64       // the share of the tasks that is cancelled
	Queues      int           // more than zero: this number of queues, in place of loadQueues
	MoveShare   float64       // the share that is moved to a later time; Target must be a Mover
	Quit        func()        // ends the load early; set when it starts

	mu         sync.Mutex // guards everything below
	Unanswered int
	Cancels    map[int]int // by status
}

// Run creates and cancels tasks until ctx ends.
func (l *Load) Run(ctx context.Context) {
	l.Cancels = map[int]int{}
	timing.AtRate(ctx, l.Rate, func(i int) { l.live(ctx, i) })
}

// live creates one task and may cancel it. Each task has its own random source, so
// its actions depend only on the seed.
func (l *Load) live(ctx context.Context, i int) {
	dice := rand.New(rand.NewPCG(l.Environment.Run.Options.Seed, uint64(i)))
	name, due := fmt.Sprintf("kill-%d", i), timing.DueIn(time.Duration(dice.Int64N(int64(cmp.Or(l.DueWithin, loadDue)))))
	queue := loadQueues[i%len(loadQueues)]
	if l.Queues > 0 {
		queue = fmt.Sprint("queue-", i%l.Queues)
	}
	l.create(context.WithoutCancel(ctx), queue, name, due, dice.Float64() < l.MoveShare)
	if dice.Float64() >= l.CancelShare {
		return
	}
	timing.Until(ctx, due.Add(-time.Duration(dice.Int64N(int64(time.Second)))))
	l.cancel(context.WithoutCancel(ctx), name)
}

func (l *Load) create(ctx context.Context, queue, name string, due time.Time, moves bool) {
	in := Task(name, l.Environment.Receiver.URL(), due)
	in.Queue = queue
	ok, err := l.Target.Create(ctx, in)
	if ok {
		if later := due.Add(moveBy); moves && l.Target.(Mover).Move(ctx, name, later) {
			due = later
		}
		err = l.Environment.Promised(name, due)
	}
	if err != nil {
		l.mu.Lock()
		l.Unanswered++
		l.mu.Unlock()
	}
}

func (l *Load) cancel(ctx context.Context, name string) {
	status := l.Target.Cancel(ctx, name)
	if err := l.Environment.Cancelled.Append(verify.Cancelled{Name: name, Status: status, At: time.Now()}); err != nil {
		return
	}
	l.mu.Lock()
	l.Cancels[status]++
	l.mu.Unlock()
}

// Report prints the replies, and judges the cancels.
func (l *Load) Report(t *Run, v verify.Verdict) {
	t.Note("creates without an answer %d", l.Unanswered)
	t.Note("cancels answered 200: %d, 202: %d, 409: %d, not at all: %d", l.Cancels[200], l.Cancels[202], l.Cancels[409], l.Cancels[0])
	t.Must(len(v.AfterCancel) == 0, "delivered after a cancel's 200: %d%s", len(v.AfterCancel), verify.Examples(v.AfterCancel))
}
