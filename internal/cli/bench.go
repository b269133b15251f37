package cli

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/server/httpserver"
	"github.com/foliot/foliot/internal/usage"
)

type benchCmd struct {
	Tasks    int           `default:"1000" placeholder:"N" help:"How many tasks (default: 1000; at most 100000)."`
	Over     time.Duration `default:"5s" placeholder:"DURATION" help:"They are due evenly over this long; 0s: all at once (default: 5s)."`
	Queue    string        `default:"foliot-bench" placeholder:"QUEUE" help:"The queue to put them in, with the limits it has (default: foliot-bench)."`
	Listen   string        `default:"127.0.0.1:0" placeholder:"HOST:PORT" help:"Where the callbacks are received (default: a free port on loopback)."`
	Callback string        `placeholder:"URL" help:"The URL by which the server reaches --listen, where that is another machine."`
}

// Help shows examples below the usage line.
func (benchCmd) Help() string {
	return `Creates tasks that call this command, receives the callbacks, and says how fast they were created, how late they came, and whether any was
lost, early or doubled. What it counts is what arrived here, not what the server says of itself; the clocks of the two machines count too where
there are two. Tasks that are left when it is interrupted are cancelled.

When a task is late it asks the server why, and prints the reason at once. If no callback arrives at all it stops there. On a server with
tokens it needs one of scope write (FOLIOT_TOKEN_FILE), and the server must allow tasks to call loopback (foliot serve --egress-allow
127.0.0.1/32).

Exits with 1 when a task was lost, early or doubled, and with 6 when none was delivered.

Examples:

    foliot bench
    foliot bench --tasks 20000 --over 10s
    foliot bench --server https://foliot.internal --listen 10.0.0.7:9009 --callback http://10.0.0.7:9009`
}

const (
	maxBench = 100_000
	// benchLead lies between the last create and the first due time.
	benchLead = time.Second
	// benchPatience is how long after the last due time a callback is waited for.
	benchPatience = 20 * time.Second
)

// benchReport is what bench prints with -o json.
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

// Run measures.
func (c *benchCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	switch {
	case c.Tasks < 1 || c.Tasks > maxBench:
		return usage.Errorf("--tasks", "%d does not lie between 1 and %d", c.Tasks, maxBench)
	case c.Over < 0 || c.Over > time.Hour:
		return usage.Errorf("--over", "%v does not lie between 0s and 1h", c.Over)
	}
	addr, err := httpserver.ListenAddr("--listen", c.Listen)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return httpserver.ListenError("--listen", addr, err)
	}
	target := &benchTarget{want: c.Tasks, all: make(chan struct{})}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() {
		ended <- httpserver.ServeUntil(serving, &http.Server{Handler: target, ReadHeaderTimeout: httpserver.HeaderTimeout, ReadTimeout: httpserver.BodyTimeout, IdleTimeout: httpserver.IdleTimeout}, l)
	}()
	defer func() {
		stop()
		_ = httpserver.Served(<-ended) // how its receiver ended is no result
	}()

	url := c.Callback
	if url == "" {
		url = "http://" + reachable(l.Addr()) + "/"
	}
	return c.measure(ctx, con, api, target, url)
}

// measure creates the tasks, waits for them, and reports.
func (c *benchCmd) measure(ctx context.Context, con *console, api *client.Client, target *benchTarget, url string) error {
	run := strconv.FormatInt(time.Now().UnixMilli(), 36)
	began := time.Now()
	due, err := c.create(ctx, con, api, run, url)
	defer c.clean(api, run)
	if err != nil {
		return err
	}
	report := benchReport{Tasks: c.Tasks, CreateSeconds: time.Since(began).Seconds()}
	report.CreatesPerS = float64(c.Tasks) / report.CreateSeconds

	bar := newProgress(con, "received", int64(c.Tasks))
	patience := time.NewTimer(time.Until(due[len(due)-1].Add(benchPatience)))
	defer patience.Stop()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	late := &benchLate{con: con, api: api, target: target, due: due, name: func(i int) string { return benchName(run, i) }}
	for seen, waiting := 0, true; waiting; {
		select {
		case <-target.all:
			waiting = false
		case <-patience.C:
			waiting = false
		case <-ticker.C:
			if err := late.look(ctx); err != nil {
				bar.done()
				return err
			}
			waiting = target.count()+late.lost < c.Tasks
		case <-ctx.Done():
			bar.done()
			return context.Canceled
		}
		n := target.count()
		bar.add(n-seen, int64(n-seen))
		seen = n
	}
	bar.done()
	target.judge(due, &report)
	return report.print(con)
}

// create makes the tasks, and returns when each is due.
func (c *benchCmd) create(ctx context.Context, con *console, api *client.Client, run, url string) ([]time.Time, error) {
	due := make([]time.Time, c.Tasks)
	specs := make([]client.Spec, c.Tasks)
	// What cannot be created in time would be late from the start: the first due
	// time leaves room for 5000 creates a second.
	start := time.Now().Add(benchLead + time.Duration(c.Tasks)*time.Second/5000).Truncate(time.Millisecond)
	for i := range specs {
		due[i] = start.Add(c.Over * time.Duration(i) / time.Duration(c.Tasks)).Truncate(time.Millisecond)
		specs[i] = client.Spec{
			Name: benchName(run, i), Queue: c.Queue, At: due[i],
			Labels: map[string]string{"foliot-bench": run},
			HTTP:   client.HTTP{URL: url},
		}
	}
	con.notef("creating %d tasks; the first is due in %v", c.Tasks, time.Until(start).Round(100*time.Millisecond))
	results, err := api.Tasks.CreateBatch(ctx, specs)
	if err != nil {
		return due, err
	}
	for i, r := range results {
		if r.Err != nil {
			return due, fmt.Errorf("create %s: %w", specs[i].Name, r.Err)
		}
	}
	return due, nil
}

func benchName(run string, i int) string { return fmt.Sprintf("bench-%s-%d", run, i) }

// benchLate finds out why callbacks are late. It looks at the tasks in the order of
// their due times, and at no task before the ones due earlier have arrived or are lost.
type benchLate struct {
	con    *console
	api    *client.Client
	target *benchTarget
	due    []time.Time
	name   func(i int) string

	next    int             // all tasks before it have arrived or are lost
	lost    int             // tasks that ended and have not arrived
	printed map[string]bool // reasons
}

// maxLooks bounds the requests of one look, because a look takes processor time from the measurement.
const maxLooks = 20

// look prints why the next tasks are late. It returns an error if no callback arrives at all.
func (l *benchLate) look(ctx context.Context) error {
	for range maxLooks {
		for l.next < len(l.due) && l.target.has(l.next) {
			l.next++
		}
		if l.next == len(l.due) || time.Since(l.due[l.next]) < lookAfter {
			return nil
		}
		o := look(ctx, l.api, l.name(l.next), l.due[l.next])
		switch {
		case ctx.Err() != nil || l.target.has(l.next):
			return nil
		case o.failed && l.target.count() == 0:
			return notDelivered(l.name(l.next), o)
		}
		if o.why != "" && !l.printed[o.why] && len(l.printed) < maxReasons {
			if l.printed == nil {
				l.printed = map[string]bool{}
			}
			l.printed[o.why] = true
			l.con.notef("%s", o.about(l.name(l.next)))
		}
		if !o.ended {
			return nil
		}
		l.next++
		l.lost++
	}
	return nil
}

// maxReasons bounds the printed reasons: each task may have another one.
const maxReasons = 10

// clean cancels what is left, also after an interrupt. What it cannot cancel
// fails against a receiver that is gone: that the queue's retries end.
func (c *benchCmd) clean(api *client.Client, run string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, _ = api.Tasks.CancelMany(ctx, client.Filter{
		Queue: c.Queue, Labels: map[string]string{"foliot-bench": run},
		States: []client.State{client.Scheduled, client.Running, client.Dead},
	})
}

// benchTarget receives the callbacks.
type benchTarget struct {
	want int
	all  chan struct{} // closed when each task has arrived once

	mu       sync.Mutex // guards everything below
	arrivals []benchArrival
	first    map[int]bool
}

type benchArrival struct {
	task int
	at   time.Time
}

func (b *benchTarget) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	name := r.Header.Get("Foliot-Task")
	i, err := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
	if err != nil || i < 0 || i >= b.want || !strings.HasPrefix(name, "bench-") {
		w.WriteHeader(http.StatusGone) // not ours: from a run before
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.first == nil {
		b.first = make(map[int]bool, b.want)
	}
	b.arrivals = append(b.arrivals, benchArrival{i, at})
	if !b.first[i] {
		b.first[i] = true
		if len(b.first) == b.want {
			close(b.all)
		}
	}
}

func (b *benchTarget) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.first)
}

// has reports whether a task has arrived.
func (b *benchTarget) has(i int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.first[i]
}

// judge compares what arrived with when it was due.
func (b *benchTarget) judge(due []time.Time, r *benchReport) {
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := make([]bool, len(due))
	var late []time.Duration
	for _, a := range b.arrivals {
		switch d := a.at.Sub(due[a.task]); {
		case seen[a.task]:
			r.Duplicates++
			continue
		case d < 0:
			r.Early++
			fallthrough
		default:
			seen[a.task] = true
			late = append(late, d)
		}
	}
	r.Arrived = len(late)
	r.Lost = len(due) - len(late)
	slices.Sort(late)
	at := func(p float64) float64 {
		if len(late) == 0 {
			return 0
		}
		return float64(late[min(int(p*float64(len(late))), len(late)-1)].Microseconds()) / 1000
	}
	r.LateP50MS, r.LateP99MS, r.LateMaxMS = at(0.50), at(0.99), at(1)
}

func (r *benchReport) print(con *console) error {
	if con.json {
		if err := con.object(r); err != nil {
			return err
		}
	} else {
		con.sayf("created   %d in %.2f s, %.0f a second", r.Tasks, r.CreateSeconds, r.CreatesPerS)
		con.sayf("arrived   %d; lost %d, early %d, duplicates %d", r.Arrived, r.Lost, r.Early, r.Duplicates)
		con.sayf("lateness  p50 %.1f ms, p99 %.1f ms, max %.1f ms", r.LateP50MS, r.LateP99MS, r.LateMaxMS)
	}
	if r.Lost+r.Early+r.Duplicates > 0 {
		return fmt.Errorf("%d tasks lost, %d early, %d duplicates: `foliot ls --queue` and the server's log tell what became of them", r.Lost, r.Early, r.Duplicates)
	}
	return nil
}
