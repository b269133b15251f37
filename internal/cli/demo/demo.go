package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/delivery"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/server/httpserver"
	"github.com/foliot/foliot/internal/usage"
)

// Demo is the command foliot demo.
type Demo struct {
	Timers int           `default:"10000" placeholder:"N" help:"The number of timers, 100 to 100000 (default: 10000)."`
	Over   time.Duration `default:"20s" placeholder:"DURATION" help:"They become due over this time, 10s to 10m (default: 20s)."`
	Stay   bool          `help:"Keep the server and its web page at the end, until Ctrl-C."`
	Store  string        `placeholder:"URL" help:"Keep the timers in this Redis, under a prefix of their own, which is removed at the end (default: a temporary directory)."`
}

// Tools are functions that need packages of other commands.
type Tools struct {
	Browse func(url string) error                        // opens a web page
	Remove func(ctx context.Context, store string) error // removes all keys of a store in Redis, or refuses its URL
}

func (Demo) Help() string {
	return `Shows Foliot at work, in half a minute. It starts a server of its own on a free port, and creates named timers that
call this command. It cancels a tenth of them, moves a tenth, and lets one fail until it is dead. A schedule runs each second.
It kills the server with SIGKILL while it answers, four times in a row (once on a Redis), and starts it again. At the end it counts the
callbacks that came, and removes everything. The lateness leaves out timers that were due while the server was away: the line counts
these at its end. On a Redis, a server that starts again waits up to 6 seconds for the leases of the killed one.

It exits with 6 if the server broke a promise, and names the timers: one was lost, early, sent although it was cancelled, or not changed
although it was not due; the schedule did not run, or the failing timer did not die.

Examples:

    foliot demo
    foliot demo --stay
    foliot demo --store redis://127.0.0.1:6379 --timers 50000 --over 1m`
}

// The times of the demo.
const (
	lead      = time.Second            // before the first timer is due
	changeFor = 3 * time.Second        // a timer is cancelled or moved this long before it is due
	later     = 2 * time.Second        // a timer is moved by this,
	earlier   = lead / 2               // or by this
	volley    = 200                    // timers that are created around the kills; at most a fifth of all
	workers   = 8                      // calls at the same time
	perSecond = 1000                   // timers that a small machine can create, change and call
	step      = 50 * time.Millisecond  // between batches
	redraw    = 250 * time.Millisecond // between two states of the bar
	patience  = 30 * time.Second       // for the doomed timer, and to remove the keys
	awayTime  = 20 * time.Second       // the longest time for which a server or its store may be away
	doomed    = "demo-doomed"
)

func (c *Demo) Run(ctx context.Context, con *console.Console, tools Tools) (err error) {
	switch {
	case c.Timers < 100 || c.Timers > 100_000:
		return usage.Errorf("--timers", "%d is not between 100 and 100000", c.Timers)
	case c.Over < 10*time.Second || c.Over > 10*time.Minute:
		return usage.Errorf("--over", "%v is not between 10s and 10m", c.Over)
	case c.Timers > int(perSecond*c.Over.Seconds()):
		return usage.Errorf("--over", "%v is too short for %d timers: more than %d a second are too many for this demo", c.Over, c.Timers, perSecond)
	case strings.Contains(c.Store, "prefix="):
		return usage.Errorf("--store", "leave out the prefix: the demo has one of its own")
	}
	signal.Ignore(syscall.SIGPIPE)       // if nobody reads the output any more, the server must end too
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGHUP)
		defer stop()
	}
	d := &demo{Demo: c, Tools: tools, con: con, run: strconv.FormatInt(time.Now().UnixMilli(), 36)}
	defer func() { err = errors.Join(err, d.clean()) }()
	if err := d.prepare(ctx); err != nil {
		return err
	}
	result, err := d.play(ctx)
	switch {
	case errors.Is(err, client.ErrFull) && d.store == "":
		return fmt.Errorf("%s is full: set TMPDIR to a directory with room", os.TempDir())
	case errors.Is(err, client.ErrUnavailable): // only the log of the server has the reason
		return fmt.Errorf("the store cannot be reached, or refuses writes: %s", d.server.lastLines())
	case err != nil:
		return err
	}
	if err := con.Resultf(result, "%s", result); err != nil {
		return err
	}
	if c.Stay {
		con.Notef("the server goes on at %s/ui/; press Ctrl-C to end it", d.server.url)
		for err == nil && console.Pause(ctx, redraw) {
			err = d.gone(ctx)
		}
	}
	return cmp.Or(err, result.Err())
}

// demo is one run.
type demo struct {
	*Demo
	Tools
	con      *console.Console
	run      string // unique, in the names of the timers
	dir      string // of the data
	store    string // the URL of a Redis, with the prefix of this run
	server   child
	restarts sync.Mutex // held during a restart
	receiver *http.Server
	calls    string // the URL of the receiver
	api      *client.Client
	ledger   *delivery.Ledger
	bar      *console.Progress
	runs     atomic.Int64 // of the schedule
	before   int64        // its runs before the last kill
}

func (d *demo) clean() (err error) {
	if d.api != nil {
		d.api.Close()
	}
	d.server.kill()
	if d.receiver != nil {
		err = d.receiver.Close()
	}
	if d.dir != "" {
		err = errors.Join(err, os.RemoveAll(d.dir))
	}
	if d.store != "" {
		defer time.AfterFunc(time.Second, func() { d.con.Notef("removing the timers from the Redis") }).Stop()
		ctx, stop := context.WithTimeout(context.Background(), patience)
		defer stop()
		if failed := d.Remove(ctx, d.store); failed != nil {
			err = errors.Join(err, failed, fmt.Errorf("keys of the demo are left in the Redis: remove them with redis-cli --scan --pattern 'demo-%s:*' | xargs redis-cli unlink", d.run))
		}
	}
	return err
}

func (d *demo) prepare(ctx context.Context) (err error) {
	if d.dir, err = os.MkdirTemp("", "foliot-demo-"); err != nil {
		return fmt.Errorf("create a directory for the timers: %w: set TMPDIR to another one", err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("find a free port for the server: %w", err)
	}
	addr := free.Addr().String()
	if err := free.Close(); err != nil {
		return err
	}
	d.server = child{url: "http://" + addr, log: filepath.Join(d.dir, "log"), args: []string{"serve", "--listen", addr, "--log-level", "warn"}}
	if d.Store == "" {
		d.server.args = append(d.server.args, "--data", filepath.Join(d.dir, "data"))
	} else {
		sign := "?"
		if strings.Contains(d.Store, "?") {
			sign = "&"
		}
		store := d.Store + sign + "prefix=demo-" + d.run
		if err := d.Remove(ctx, store); err != nil { // before keys are written that cannot be removed
			return err
		}
		// For half a minute, a Redis that keeps nothing is good enough.
		d.store, d.server.args = store, append(d.server.args, "--store", store, "--redis-unsafe")
	}
	if err := d.server.start(ctx); err != nil {
		return err
	}
	if d.api, err = client.New(d.server.url, client.Options{Retry: client.RetryPolicy{Attempts: 1}}); err != nil {
		return err
	}
	d.con.Notef("web page: %s/ui/ (--stay keeps it at the end)", d.server.url)
	if d.con.OutTerm {
		_ = d.Browse(d.server.url + "/ui/") // without a desktop, the URL is enough
	}
	d.ledger = delivery.NewLedger("demo-"+d.run, d.Timers, time.Now().Add(lead), d.Over)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("find a free port for the receiver: %w", err)
	}
	d.calls, d.receiver = "http://"+l.Addr().String(), &http.Server{Handler: d, ReadHeaderTimeout: httpserver.HeaderTimeout}
	go func() { _ = d.receiver.Serve(l) }() // without it, timers are lost, which is the result
	return nil
}

// ServeHTTP receives a callback.
func (d *demo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch now := time.Now(); r.URL.Path {
	case "/doomed":
		w.WriteHeader(http.StatusInternalServerError)
	case "/schedule":
		d.runs.Add(1)
	default:
		d.ledger.Arrive(r.Header.Get("Foliot-Task"), now)
	}
}

// play creates, changes and receives the timers, and kills the server.
func (d *demo) play(whole context.Context) (*delivery.Result, error) {
	if err := d.extras(whole); err != nil {
		return nil, err
	}
	d.bar = console.NewProgress(d.con, "called", int64(d.Timers))
	ctx, stop := context.WithCancel(whole)
	defer stop()
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error { return d.create(ctx) })
	work.Go(func() error { return d.changeAll(ctx) })
	work.Go(func() error { return d.killAmidst(ctx) })
	var gone error
	for end := d.ledger.At(0).Due.Add(d.Over + later + startTime); gone == nil; gone = d.gone(ctx) {
		line, ended := d.ledger.Line()
		d.bar.Show(line, ended)
		if ended == d.Timers || time.Now().After(end) || !console.Pause(ctx, redraw) {
			console.Pause(ctx, lead) // for callbacks that should not come
			break
		}
	}
	d.bar.Done()
	if gone != nil {
		stop()
		gone = errors.Join(gone, d.ledger.Judge(time.Now().Add(-later)).Err())
	}
	failed := work.Wait()
	if err := cmp.Or(whole.Err(), gone, failed); err != nil {
		return nil, err
	}
	dead, err := d.api.Tasks.Poll(whole, doomed, patience)
	if err != nil {
		return nil, err
	}
	result := d.ledger.Judge(time.Now())
	result.Runs, result.Doomed = d.runs.Load(), string(dead.State)
	if ran := result.Runs - d.before; ran == 0 || dead.State != client.StateDead {
		result.Wrong = append(result.Wrong, fmt.Sprintf("%s is %s, and the schedule has run %s after the last kill", doomed, dead.State, wording.Count(ran, "time")))
	}
	d.con.Notef("the timer %s is %s after %s; the schedule has run %s", doomed, dead.State, wording.Count(len(dead.Attempts), "attempt"), wording.Count(result.Runs, "time"))
	return result, nil
}

// gone returns an error if the server has ended, but the demo has not killed it.
func (d *demo) gone(ctx context.Context) error {
	if !d.restarts.TryLock() {
		return nil
	}
	defer d.restarts.Unlock()
	if err := d.server.failure(); err != nil && console.Pause(ctx, redraw) { // Ctrl-C ends both
		return err
	}
	return nil
}

func (d *demo) extras(ctx context.Context) error {
	if _, err := d.api.Tasks.Put(ctx, client.Spec{Name: doomed, HTTP: client.HTTP{URL: d.calls + "/doomed"}, Retry: client.Retry{MaxAttempts: 3, MinBackoff: time.Second, MaxBackoff: time.Second}}); err != nil {
		return err
	}
	_, err := d.api.Schedules.Put(ctx, "demo-each-second", client.ScheduleSpec{Every: time.Second, Task: client.Spec{HTTP: client.HTTP{URL: d.calls + "/schedule"}}})
	return err
}

// amidst returns the first timer that is created around the kills. The last timers
// are, because they are due long after that.
func (d *demo) amidst() int { return d.Timers - min(volley, d.Timers/5) }

// create creates the other timers in the order of their due times.
func (d *demo) create(ctx context.Context) error {
	const most = 1000 // in one request
	for first := 0; first < d.amidst(); first += most {
		if err := d.batch(ctx, first, min(first+most, d.amidst())); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) spec(i int) client.Spec {
	t := d.ledger.At(i)
	return client.Spec{Name: t.Name, At: t.Due, HTTP: client.HTTP{URL: d.calls}}
}

func (d *demo) created(i int) { d.ledger.Confirm(i, func(t *delivery.Timer) { t.Created = true }) }

// killAmidst creates timers one by one, in several goroutines, and kills the server
// among them. So there is an answer at each instant, and a server that answers
// before it has written is likely found out, most of all if it is killed several
// times. On a Redis, the next server waits for the lease of the one before.
func (d *demo) killAmidst(ctx context.Context) error {
	kills := 4
	if d.store != "" {
		kills = 1
	}
	first := d.amidst()
	every := (d.Timers-first)/(kills+1) + 1
	console.Pause(ctx, time.Until(d.ledger.At(0).Due.Add(d.Over*2/5-lead)))
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(workers)
	for i := first; i < d.Timers && ctx.Err() == nil; i++ {
		if (i-first)%every == every-1 {
			work.Go(func() error { return d.restart(ctx) })
		}
		work.Go(func() error {
			put := func() error {
				_, err := d.api.Tasks.Put(ctx, d.spec(i), client.Key(d.ledger.At(i).Name))
				return err
			}
			err := insist(ctx, put)
			if err == nil {
				d.created(i)
			}
			return err
		})
	}
	return work.Wait()
}

func (d *demo) batch(ctx context.Context, first, next int) error {
	var specs []client.Spec
	for i := first; i < next; i++ {
		specs = append(specs, d.spec(i))
	}
	var results []client.Result
	err := insist(ctx, func() (err error) { results, err = d.api.Tasks.CreateMany(ctx, specs); return err })
	for i, r := range results {
		if r.Err != nil && !errors.Is(r.Err, client.ErrExists) { // a repeat after a lost answer
			return fmt.Errorf("create %s: %w", specs[i].Name, r.Err)
		}
		d.created(first + i)
	}
	return err
}

func (d *demo) restart(ctx context.Context) error {
	d.restarts.Lock()
	defer d.restarts.Unlock()
	if ctx.Err() != nil { // after a failure of another restart, or of a create
		return ctx.Err()
	}
	killed := time.Now()
	d.bar.Notef("kill -9 of the server, process %d", d.server.process.Process.Pid)
	d.ledger.Killed(killed)
	d.server.kill()
	err := d.server.start(ctx)
	if err == nil {
		d.before = d.runs.Load()
		d.ledger.Ready()
		waits := ""
		if d.store != "" {
			waits = ", and waits up to 6 seconds for the leases of the killed one"
		}
		d.bar.Notef("after %s the server is ready again, as process %d%s", wording.Millis(time.Since(killed)), d.server.process.Process.Pid, waits)
	} else if ctx.Err() == nil && d.store == "" { // all that it had answered is lost
		err = errors.Join(err, d.ledger.Judge(time.Now().Add(time.Hour)).Err())
	}
	return err
}

// changeAll changes timers, each some seconds before it is due.
func (d *demo) changeAll(ctx context.Context) error {
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(workers)
	for i := 0; i < d.Timers && ctx.Err() == nil; i++ {
		console.Pause(ctx, time.Until(d.ledger.At(i).Due.Add(-changeFor)))
		for !d.ledger.At(i).Created && console.Pause(ctx, step) {
		}
		work.Go(func() error { return d.change(ctx, i) })
	}
	return work.Wait()
}

// change cancels a tenth of the timers, half of them after a move, and moves a
// tenth, half of them to an earlier time.
func (d *demo) change(ctx context.Context, i int) (err error) {
	t := d.ledger.At(i)
	if i%10 == 7 || i%20 == 13 {
		at := t.Due.Add([]time.Duration{later, -earlier}[i/10%2])
		move := func() error { _, err := d.api.Tasks.Patch(ctx, t.Name, client.Patch{At: client.Set(at)}); return err }
		err = d.ask(ctx, i, at, move, func(t *delivery.Timer) { t.Moved, t.Due = true, at })
	}
	if i%10 == 3 && err == nil {
		err = d.ask(ctx, i, d.ledger.At(i).Due, func() error {
			done, err := d.api.Tasks.Cancel(ctx, t.Name)
			if done.UnderWay {
				return client.ErrConflict
			}
			return err
		}, func(t *delivery.Timer) { t.Cancelled = !t.Arrived() }) // an attempt can arrive before an outage, and the repeated call after it
	}
	return err
}

// ask asks for a change. A refusal is no failure: after an outage, a change can
// come too late.
func (d *demo) ask(ctx context.Context, i int, at time.Time, call func() error, confirm func(*delivery.Timer)) error {
	err := insist(ctx, call)
	if errors.Is(err, client.ErrConflict) || errors.Is(err, client.ErrNotFound) {
		d.ledger.Refuse(i, at, time.Now())
		return nil
	}
	if err == nil {
		d.ledger.Confirm(i, confirm)
	}
	return err
}

// insist repeats a call while the server or its store is away. All calls of the
// demo may be repeated, because each names its timer and an absolute time.
func insist(ctx context.Context, call func() error) error {
	for began := time.Now(); ; {
		err := call()
		var away *client.TransportError
		again := errors.As(err, &away) || errors.Is(err, client.ErrUnavailable) && !errors.Is(err, client.ErrFull)
		if !again || time.Since(began) > awayTime || !console.Pause(ctx, step) {
			return err
		}
	}
}
