package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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
	Remove func(ctx context.Context, store string) error // removes all keys of a store in Redis
}

// Help shows examples below the usage line.
func (Demo) Help() string {
	return `Shows Foliot at work, in half a minute. It starts a server of its own on a free port, and creates named timers that
call this command. It cancels a tenth of them, moves a tenth, and lets one fail until it is dead. A schedule runs each second.
It kills the server with SIGKILL while it answers, several times, and starts it again. At the end it counts the callbacks that came, and
removes everything.

It exits with 1 if a timer was lost, early, or sent although it was cancelled, and names these timers.

Examples:

    foliot demo
    foliot demo --stay
    foliot demo --store redis://127.0.0.1:6379 --timers 50000 --over 1m`
}

// The times of the demo.
const (
	lead      = time.Second            // before the first timer is due
	createFor = 6 * time.Second        // a timer is created this long before it is due
	changeFor = 3 * time.Second        // a timer is cancelled or moved this long before it is due
	later     = 2 * time.Second        // a timer is moved by this
	volley    = 200                    // timers that are created around the kill
	step      = 50 * time.Millisecond  // between batches
	redraw    = 250 * time.Millisecond // between two states of the bar
	patience  = 30 * time.Second       // after the last due time
	doomed    = "demo-doomed"
)

// Run runs the demo.
func (c *Demo) Run(ctx context.Context, con *console.Console, tools Tools) (err error) {
	switch {
	case c.Timers < 100 || c.Timers > 100_000:
		return usage.Errorf("--timers", "%d is not between 100 and 100000", c.Timers)
	case c.Over < 10*time.Second || c.Over > 10*time.Minute:
		return usage.Errorf("--over", "%v is not between 10s and 10m", c.Over)
	}
	d := &demo{Demo: c, Tools: tools, con: con, run: strconv.FormatInt(time.Now().UnixMilli(), 36)}
	defer func() { err = errors.Join(err, d.clean()) }()
	if err := d.prepare(ctx); err != nil {
		return err
	}
	result, err := d.play(ctx)
	if err != nil {
		if ended := d.server.failure(); ended != nil {
			return errors.Join(ended, d.ledger.Judge().Err())
		}
		return err
	}
	if err := con.Resultf(result, "%s", result); err != nil {
		return err
	}
	if c.Stay {
		con.Notef("the server goes on at %s/ui/; press Ctrl-C to end it", d.server.url)
		<-ctx.Done()
	}
	return result.Err()
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
	restarts sync.Mutex // only one at a time
	receiver *http.Server
	calls    string // the URL of the receiver
	api      *client.Client
	ledger   *delivery.Ledger
	runs     atomic.Int64 // of the schedule
}

// clean removes all that the demo has made.
func (d *demo) clean() (err error) {
	if d.api != nil {
		d.api.Close()
	}
	d.server.stop()
	if d.receiver != nil {
		err = d.receiver.Close()
	}
	if d.store != "" {
		ctx, stop := context.WithTimeout(context.Background(), patience)
		defer stop()
		err = errors.Join(err, d.Remove(ctx, d.store))
	}
	if d.dir != "" {
		err = errors.Join(err, os.RemoveAll(d.dir))
	}
	return err
}

// prepare starts the receiver and the server.
func (d *demo) prepare(ctx context.Context) (err error) {
	if d.dir, err = os.MkdirTemp("", "foliot-demo-"); err != nil {
		return fmt.Errorf("create a directory for the timers: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("find a free port for the receiver: %w", err)
	}
	d.calls, d.receiver = "http://"+l.Addr().String(), &http.Server{Handler: d, ReadHeaderTimeout: httpserver.HeaderTimeout}
	go func() { _ = d.receiver.Serve(l) }() // without it, timers are lost, which is the result
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
		d.store = d.Store + sign + "prefix=demo-" + d.run
		d.server.args = append(d.server.args, "--store", d.store)
	}
	if err := d.server.start(ctx); err != nil {
		d.store = "" // nothing was written
		return err
	}
	if d.api, err = client.New(d.server.url, client.Options{Retry: client.RetryPolicy{Attempts: 1}}); err != nil {
		return err
	}
	d.con.Notef("web page: %s/ui/", d.server.url)
	if d.con.OutTerm {
		_ = d.Browse(d.server.url + "/ui/") // without a desktop, the URL is enough
	}
	return nil
}

// ServeHTTP receives a callback.
func (d *demo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch now, name := time.Now(), r.Header.Get("Foliot-Task"); {
	case name == doomed:
		w.WriteHeader(http.StatusInternalServerError)
	case !d.ledger.Arrive(name, now):
		d.runs.Add(1)
	}
}

// play creates, changes and receives the timers, and kills the server.
func (d *demo) play(whole context.Context) (*delivery.Result, error) {
	start := time.Now().Add(lead)
	d.ledger = delivery.NewLedger("demo-"+d.run, d.Timers, start, d.Over)
	if err := d.extras(whole); err != nil {
		return nil, err
	}
	work, ctx := errgroup.WithContext(whole)
	for _, do := range []func(context.Context) error{d.create, d.cancel, d.move} {
		work.Go(func() error { return do(ctx) })
	}
	bar := console.NewProgress(d.con, "called", int64(d.Timers)).EverySecond()
	for end := start.Add(d.Over + later + patience); time.Now().Before(end); {
		line, ended := d.ledger.Line()
		if bar.Show(line, ended); ended == d.Timers || !console.Pause(ctx, redraw) {
			break
		}
	}
	bar.Done()
	if err := cmp.Or(work.Wait(), whole.Err()); err != nil {
		return nil, err
	}
	dead, err := d.api.Tasks.Get(whole, doomed)
	if err != nil {
		return nil, err
	}
	d.con.Notef("the timer %s is %s after %s; the schedule has run %s", doomed, dead.State, wording.Count(len(dead.Attempts), "attempt"), wording.Count(d.runs.Load(), "time"))
	return d.ledger.Judge(), nil
}

// extras makes a timer that dies, and a schedule.
func (d *demo) extras(ctx context.Context) error {
	if _, err := d.api.Tasks.Put(ctx, client.Spec{Name: doomed, HTTP: client.HTTP{URL: d.calls}, Retry: client.Retry{MaxAttempts: 3, MinBackoff: time.Second, MaxBackoff: time.Second}}); err != nil {
		return err
	}
	_, err := d.api.Schedules.Put(ctx, "demo-each-second", client.ScheduleSpec{Every: time.Second, Task: client.Spec{HTTP: client.HTTP{URL: d.calls}}})
	return err
}

// create creates the timers in the order of their due times. In between, it kills
// the server.
func (d *demo) create(ctx context.Context) error {
	killAt := d.ledger.At(0).Due.Add(d.Over*2/5 - lead)
	for next := 0; next < d.Timers; {
		first, bound := next, 1000
		killing := !killAt.IsZero() && time.Now().After(killAt)
		if killing {
			bound = volley
		}
		for next < d.Timers && next-first < bound && (killing || time.Until(d.ledger.At(next).Due) <= createFor) {
			next++
		}
		create := d.batch
		if killing {
			killAt, create = time.Time{}, d.killAmidst
		}
		if err := create(ctx, first, next); err != nil {
			return err
		}
		if next-first < bound && !console.Pause(ctx, step) {
			return nil
		}
	}
	return nil
}

func (d *demo) spec(i int) client.Spec {
	t := d.ledger.At(i)
	return client.Spec{Name: t.Name, At: t.Due, HTTP: client.HTTP{URL: d.calls}}
}

func (d *demo) created(i int) { d.ledger.Confirm(i, func(t *delivery.Timer) { t.Created = true }) }

// batch creates timers at once.
func (d *demo) batch(ctx context.Context, first, next int) error {
	var specs []client.Spec
	for i := first; i < next; i++ {
		specs = append(specs, d.spec(i))
	}
	var results []client.BatchResult
	err := insist(ctx, func() (err error) { results, err = d.api.Tasks.CreateBatch(ctx, specs); return err })
	for i, r := range results {
		if r.Err != nil && !errors.Is(r.Err, client.ErrExists) { // a repeat after a lost answer
			return fmt.Errorf("create %s: %w", specs[i].Name, r.Err)
		}
		d.created(first + i)
	}
	return err
}

// killAmidst creates timers one by one, in several goroutines, and kills the
// server among them. So there is an answer at each instant, and a server that
// answers before it has written is likely found out, most of all if it is killed
// several times. On a Redis, the next server waits for the lease of the one before.
func (d *demo) killAmidst(ctx context.Context, first, next int) error {
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(8)
	kills := 4
	if d.store != "" {
		kills = 1
	}
	every := (next-first)/(kills+1) + 1
	for i := first; i < next; i++ {
		if (i-first)%every == every-1 {
			work.Go(func() error { return d.restart(ctx) })
		}
		work.Go(func() error {
			err := insist(ctx, func() error { _, err := d.api.Tasks.Put(ctx, d.spec(i)); return err })
			if err == nil {
				d.created(i)
			}
			return err
		})
	}
	return work.Wait()
}

// restart kills the server, and starts it again.
func (d *demo) restart(ctx context.Context) error {
	d.restarts.Lock()
	defer d.restarts.Unlock()
	err := ctx.Err() // of a failure of another restart, or of a writer
	if err != nil {
		return err
	}
	d.ledger.Killed(time.Now())
	d.server.kill()
	err = d.server.start(ctx)
	if err == nil {
		d.ledger.Ready()
	}
	return err
}

// cancel cancels a tenth of the timers.
func (d *demo) cancel(ctx context.Context) error {
	return d.each(ctx, 3, func(i int, t delivery.Timer) error {
		var underWay bool
		err := insist(ctx, func() (err error) { _, underWay, err = d.api.Tasks.Cancel(ctx, t.Name); return err })
		if err == nil && !underWay {
			d.ledger.Confirm(i, func(t *delivery.Timer) { t.Cancelled = true })
		}
		return err
	})
}

// move moves a tenth of the timers.
func (d *demo) move(ctx context.Context) error {
	return d.each(ctx, 7, func(i int, t delivery.Timer) error {
		var moved *client.Task
		err := insist(ctx, func() (err error) {
			moved, err = d.api.Tasks.Patch(ctx, t.Name, client.Patch{At: client.Set(t.Due.Add(later))})
			return err
		})
		if err == nil {
			d.ledger.Confirm(i, func(t *delivery.Timer) { t.Moved, t.Due = true, moved.DueAt })
		}
		return err
	})
}

// insist repeats a call while the server is away. All calls of the demo may be
// repeated, because each names its timer and an absolute time.
func insist(ctx context.Context, call func() error) error {
	for began := time.Now(); ; {
		err := call()
		var away *client.TransportError
		if !errors.As(err, &away) && !errors.Is(err, client.ErrUnavailable) || time.Since(began) > startTime || !console.Pause(ctx, step) {
			return err
		}
	}
}

// each calls change for every tenth timer, some seconds before it is due.
func (d *demo) each(ctx context.Context, digit int, change func(int, delivery.Timer) error) error {
	for i := digit; i < d.Timers; i += 10 {
		t := d.ledger.At(i)
		if wait := time.Until(t.Due.Add(-changeFor)); wait > 0 && !console.Pause(ctx, wait) {
			return nil
		}
		for !d.ledger.At(i).Created {
			if !console.Pause(ctx, step) {
				return nil
			}
		}
		if err := change(i, t); err != nil {
			return err
		}
	}
	return nil
}
