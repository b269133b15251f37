package receive

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/delivery"
	"github.com/foliot/foliot/internal/server/httpserver"
	"github.com/foliot/foliot/internal/usage"
)

// Bench is the command foliot bench.
type Bench struct {
	Tasks    int           `default:"1000" placeholder:"N" help:"Number of tasks, at most 100000 (default: 1000)."`
	Over     time.Duration `default:"5s" placeholder:"DURATION" help:"Spread the due times evenly over this time; 0s: all at once (default: 5s)."`
	Queue    string        `default:"foliot-bench" placeholder:"QUEUE" help:"The queue of the tasks. Its limits apply (default: foliot-bench)."`
	Listen   string        `default:"127.0.0.1:0" placeholder:"HOST:PORT" help:"The address that receives the callbacks (default: a free port on loopback)."`
	Callback string        `placeholder:"URL" help:"The URL by which a server on another machine reaches --listen."`
}

// Help shows examples below the usage line.
func (Bench) Help() string {
	return `Creates tasks that call this command, and receives their callbacks. It reports how fast the tasks were created, how late the callbacks
came, and whether any was lost, early or duplicated. It counts the callbacks that arrive here, and does not rely on figures of the
server. If the server runs on another machine, a difference of the two clocks changes the results. After an interrupt, it cancels
the remaining tasks.

If a task is late, the command prints the reason from the server at once. If no callback arrives at all, it stops. If the server
has tokens, it needs a token of scope write (FOLIOT_TOKEN_FILE), and the server must allow tasks to call loopback (foliot serve
--egress-allow 127.0.0.1/32).

It exits with 1 if a task was lost, early or duplicated, and with 6 if no task was delivered.

Examples:

    foliot bench
    foliot bench --tasks 20000 --over 10s
    foliot bench --server https://foliot.internal --listen 10.0.0.7:9009 --callback http://10.0.0.7:9009`
}

const (
	maxBench = 100_000
	// benchLead is the time between the last create and the first due time.
	benchLead = time.Second
	// benchTimeout is how long it waits for callbacks after the last due time.
	benchTimeout = 20 * time.Second
)

// benchReport is the output of bench with -o json.
type benchReport struct {
	Tasks         int     `json:"tasks"`
	CreateSeconds float64 `json:"create_seconds"`
	CreatesPerS   float64 `json:"creates_per_second"`
	Arrived       int     `json:"arrived"`
	Lost          int     `json:"lost"`
	Early         int     `json:"early"`
	Duplicates    int     `json:"duplicates"`
	LateP50MS     float64 `json:"late_p50_ms"`
	LateP99MS     float64 `json:"late_p99_ms"`
	LateMaxMS     float64 `json:"late_max_ms"`
}

// Run measures the server.
func (c *Bench) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	switch {
	case c.Tasks < 1 || c.Tasks > maxBench:
		return usage.Errorf("--tasks", "%d is not between 1 and %d", c.Tasks, maxBench)
	case c.Over < 0 || c.Over > time.Hour:
		return usage.Errorf("--over", "%v is not between 0s and 1h", c.Over)
	}
	addr, err := httpserver.ListenAddr("--listen", c.Listen)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return httpserver.ListenError("--listen", addr, err)
	}
	url := c.Callback
	if url == "" {
		url = "http://" + httpserver.ReachableAddr(l.Addr()) + "/"
	}
	// A task that is created after its due time would count as late. So the first
	// due time leaves enough time for 5000 creates per second.
	start := time.Now().Add(benchLead + time.Duration(c.Tasks)*time.Second/5000)
	run := strconv.FormatInt(time.Now().UnixMilli(), 36)
	ledger := delivery.NewLedger("bench-"+run, c.Tasks, start, c.Over)
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !ledger.Arrive(r.Header.Get("Foliot-Task"), time.Now()) {
			w.WriteHeader(http.StatusGone) // a task of an earlier run
		}
	}), ReadHeaderTimeout: httpserver.HeaderTimeout, ReadTimeout: httpserver.BodyTimeout, IdleTimeout: httpserver.IdleTimeout}
	go func() { _ = srv.Serve(l) }() // an error of the receiver is no result of the measurement
	defer func() { _ = srv.Close() }()
	return c.measure(ctx, con, api, ledger, run, url)
}

// measure creates the tasks, waits for their callbacks, and prints the report.
func (c *Bench) measure(ctx context.Context, con *console.Console, api *client.Client, ledger *delivery.Ledger, run, url string) error {
	began := time.Now()
	err := c.create(ctx, con, api, ledger, run, url)
	defer c.clean(api, run)
	if err != nil {
		return err
	}
	report := benchReport{Tasks: c.Tasks, CreateSeconds: time.Since(began).Seconds()}
	report.CreatesPerS = float64(c.Tasks) / report.CreateSeconds

	bar := console.NewProgress(con, "received", int64(c.Tasks))
	late := &benchLate{con: con, api: api, ledger: ledger, tasks: c.Tasks}
	end := ledger.At(c.Tasks - 1).Due.Add(benchTimeout)
	for seen := 0; ledger.Arrived()+late.lost < c.Tasks && time.Now().Before(end); {
		if !console.Pause(ctx, delivery.CheckEvery) {
			bar.Done()
			return context.Canceled
		}
		if err := late.check(ctx); err != nil {
			bar.Done()
			return err
		}
		n := ledger.Arrived()
		bar.Add(n-seen, int64(n-seen))
		seen = n
	}
	bar.Done()
	r := ledger.Judge(time.Now())
	report.Arrived, report.Lost, report.Early, report.Duplicates = ledger.Arrived(), r.Lost, r.Early, r.Twice
	report.LateP50MS, report.LateP99MS, report.LateMaxMS = r.LateP50, r.LateP99, r.LateMax
	return report.print(con)
}

// create creates the tasks.
func (c *Bench) create(ctx context.Context, con *console.Console, api *client.Client, ledger *delivery.Ledger, run, url string) error {
	specs := make([]client.Spec, c.Tasks)
	for i := range specs {
		t := ledger.At(i)
		specs[i] = client.Spec{
			Name: t.Name, Queue: c.Queue, At: t.Due,
			Labels: map[string]string{"foliot-bench": run},
			HTTP:   client.HTTP{URL: url},
		}
	}
	con.Notef("creating %d tasks; the first is due in %v", c.Tasks, time.Until(specs[0].At).Round(100*time.Millisecond))
	results, err := api.Tasks.CreateBatch(ctx, specs)
	if err != nil {
		return err
	}
	for i, r := range results {
		if r.Err != nil {
			return fmt.Errorf("create %s: %w", specs[i].Name, r.Err)
		}
		ledger.Confirm(i, func(t *delivery.Timer) { t.Created = true })
	}
	return nil
}

// benchLate finds out why callbacks are late. It checks the tasks in the order
// of their due times. It checks a task only when all earlier ones have arrived
// or are lost.
type benchLate struct {
	con    *console.Console
	api    *client.Client
	ledger *delivery.Ledger
	tasks  int

	next    int             // all tasks before it have arrived or are lost
	lost    int             // tasks that ended without a callback
	printed map[string]bool // reasons that were printed
}

// maxChecks bounds the requests of one call of check, because they take
// processor time from the measurement.
const maxChecks = 20

// check prints why the next tasks are late. It returns an error if an attempt
// has failed and no callback has arrived at all.
func (l *benchLate) check(ctx context.Context) error {
	for range maxChecks {
		for l.next < l.tasks && l.ledger.At(l.next).Arrived() {
			l.next++
		}
		if l.next == l.tasks {
			return nil
		}
		t := l.ledger.At(l.next)
		if time.Since(t.Due) < delivery.CheckAfter {
			return nil
		}
		o := delivery.FindObstacle(ctx, l.api, t.Name, t.Due)
		switch {
		case ctx.Err() != nil || l.ledger.At(l.next).Arrived():
			return nil
		case o.Failed && l.ledger.Arrived() == 0:
			return delivery.NotDelivered(t.Name, o)
		}
		if o.Why != "" && !l.printed[o.Why] && len(l.printed) < maxReasons {
			if l.printed == nil {
				l.printed = map[string]bool{}
			}
			l.printed[o.Why] = true
			l.con.Notef("%s", o.About(t.Name))
		}
		if !o.Ended {
			return nil
		}
		l.next++
		l.lost++
	}
	return nil
}

// maxReasons bounds the number of printed reasons, because each task may have a
// different one.
const maxReasons = 10

// clean cancels the remaining tasks, even after an interrupt. Tasks that it
// cannot cancel fail, because the receiver is gone, until their retries end.
func (c *Bench) clean(api *client.Client, run string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, _ = api.Tasks.CancelMany(ctx, client.Filter{
		Queue: c.Queue, Labels: map[string]string{"foliot-bench": run},
		States: []client.State{client.Scheduled, client.Running, client.Dead},
	})
}

func (r *benchReport) print(con *console.Console) error {
	if con.JSON {
		if err := con.Object(r); err != nil {
			return err
		}
	} else {
		con.Linef("created   %d in %.2f s, %.0f a second", r.Tasks, r.CreateSeconds, r.CreatesPerS)
		con.Linef("arrived   %d; lost %d, early %d, duplicates %d", r.Arrived, r.Lost, r.Early, r.Duplicates)
		con.Linef("lateness  p50 %.1f ms, p99 %.1f ms, max %.1f ms", r.LateP50MS, r.LateP99MS, r.LateMaxMS)
	}
	if r.Lost+r.Early+r.Duplicates > 0 {
		return fmt.Errorf("%d tasks lost, %d early, %d duplicates: check them with `foliot ls --queue` and in the log of the server", r.Lost, r.Early, r.Duplicates)
	}
	return nil
}
