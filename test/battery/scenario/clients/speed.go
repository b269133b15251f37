package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/system"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// Command is the argument of the process that RunEmpty runs.
const Command = "empty-http-server"

// RunEmpty serves requests with net/http that do nothing: the body is read, and
// the reply is 201. It ends when in ends.
func RunEmpty(_ context.Context, in io.Reader, out io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode("http://" + l.Addr().String()); err != nil {
		return err
	}
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // an error shows at the client
		w.WriteHeader(http.StatusCreated)
	})}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		s.Close()
	}()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

const (
	goroutines = 64
	lasts      = 5 * time.Second // each measurement
	rounds     = 3
	goal       = 1.3 // creates for each request that net/http alone answers
	stalls     = 2 * time.Second
	patience   = 100 * time.Millisecond // a call waits at most this long behind a stalled batch
)

// call makes the i-th call of a caller.
type call func(ctx context.Context, caller, i int) error

// Speed: creates a second of one Go client, with and without batches, next to
// those of an empty net/http server; latencies with and without a round trip of 50 ms; and a
// request that stalls.
func Speed(ctx context.Context, t *harness.Run) {
	st := t.NewEnvironment(ctx)
	var number atomic.Int64
	due := timing.DueIn(24 * time.Hour)
	creates := func(o client.Options) call {
		api := harness.OK(client.New(st.Server.URL(), o))
		t.Cleanup(api.Close)
		return func(ctx context.Context, _, _ int) error {
			_, err := api.Tasks.Create(ctx, client.Spec{Name: fmt.Sprint("speed-", number.Add(1)), At: due, HTTP: client.HTTP{URL: st.Receiver.URL()}})
			return err
		}
	}
	empty := emptyServer(t)
	alone := creates(client.Options{NoBatching: true})
	together := creates(client.Options{})
	var ratios []float64
	for range rounds { // in turn, so that a change of the machine meets all
		bare, _ := measure(ctx, goroutines, empty)
		single, _ := measure(ctx, goroutines, alone)
		server, own := st.Server.PID(), os.Getpid()
		before, ownBefore := harness.OK(system.CPUOf(server)), harness.OK(system.CPUOf(own))
		stop := harness.OK(st.Profile("together"))
		batched, took := measure(ctx, goroutines, together)
		harness.Check(stop(ctx))
		used, ownUsed := harness.OK(system.CPUOf(server))-before, harness.OK(system.CPUOf(own))-ownBefore
		ratios = append(ratios, batched/bare)
		t.Note("%d goroutines, a second: net/http alone %.0f, creates one by one %.0f (%.2f), together %.0f (%.2f); processor time of each create: server %.0f us, client %.0f us",
			goroutines, bare, single, single/bare, batched, batched/bare, harness.Each(used, len(took)), harness.Each(ownUsed, len(took)))
	}
	slices.Sort(ratios)
	t.Must(ratios[rounds/2] >= goal, "median of creates to requests of net/http alone %.2f, at least %.1f", ratios[rounds/2], goal)
	for _, trip := range []time.Duration{0, 50 * time.Millisecond} {
		for _, callers := range []int{1, 2, 8, 64} {
			way := func(batching bool) (float64, []time.Duration) {
				transport := harness.NewClient("").HTTP.Transport
				return measure(ctx, callers, creates(client.Options{NoBatching: !batching, HTTPClient: &http.Client{Transport: &distant{transport, trip, nil}}}))
			}
			r1, one := way(false)
			r2, many := way(true)
			t.Note("round trip %2d ms, %2d callers: p50 / p99 one by one %s / %s, together %s / %s; a second %.0f, %.0f",
				trip.Milliseconds(), callers, at(one, 50), at(one, 99), at(many, 50), at(many, 99), r1, r2)
		}
	}
	stalled(ctx, t, creates)
}

// emptyServer starts a process with RunEmpty and returns a call of it.
func emptyServer(t *harness.Run) call {
	child := harness.OK(system.StartChild("the empty server", exec.Command(harness.OK(os.Executable()), Command)))
	t.Cleanup(func() { harness.Check(child.Close()) })
	var url string
	harness.Check(child.Out.Decode(&url))
	api := harness.NewClient(url)
	t.Cleanup(api.Close)
	body := map[string]any{"name": "speed-1000000", "at": "2026-01-01T00:00:00Z", "http": map[string]string{"url": url}}
	return func(ctx context.Context, _, _ int) error {
		status, _, err := api.Call(ctx, http.MethodPost, "/v1/tasks", body)
		if err == nil && status != http.StatusCreated {
			err = fmt.Errorf("the empty server answered %d", status)
		}
		return err
	}
}

// measure calls do from some goroutines for a while, and returns the calls a
// second and their latencies, in ascending order.
func measure(ctx context.Context, callers int, do call) (perSecond float64, took []time.Duration) {
	ctx, stop := context.WithTimeout(ctx, lasts+time.Minute)
	defer stop()
	var mu sync.Mutex // guards took
	began := time.Now()
	harness.Check(timing.InParallel(callers, callers, func(c int) error {
		var own []time.Duration
		for i := 0; time.Since(began) < lasts; i++ {
			asked := time.Now()
			if err := do(ctx, c, i); err != nil {
				return err
			}
			own = append(own, time.Since(asked))
		}
		mu.Lock()
		defer mu.Unlock()
		took = append(took, own...)
		return nil
	}))
	perSecond = float64(len(took)) / time.Since(began).Seconds()
	slices.Sort(took)
	return perSecond, took
}

// at returns a percentile of ascending latencies, for people.
func at(all []time.Duration, percent int) time.Duration {
	return all[min(len(all)-1, len(all)*percent/100)].Round(10 * time.Microsecond)
}

// distant is a transport with a longer round trip, which calls before, if it is
// not nil, before each request.
type distant struct {
	http.RoundTripper

	trip   time.Duration
	before func()
}

var _ http.RoundTripper = (*distant)(nil)

// RoundTrip implements http.RoundTripper.
func (d *distant) RoundTrip(r *http.Request) (*http.Response, error) {
	timing.Pause(r.Context(), d.trip/2)
	if d.before != nil {
		d.before()
	}
	resp, err := d.RoundTripper.RoundTrip(r)
	timing.Pause(r.Context(), d.trip/2)
	return resp, err
}

// stalled measures calls of 64 goroutines while one request does not come back
// for some seconds.
func stalled(ctx context.Context, t *harness.Run, creates func(client.Options) call) {
	var requests atomic.Int64
	transport := &distant{RoundTripper: harness.NewClient("").HTTP.Transport}
	transport.before = func() {
		if requests.Add(1) == 1000 {
			timing.Pause(ctx, stalls)
		}
	}
	_, took := measure(ctx, goroutines, creates(client.Options{HTTPClient: &http.Client{Transport: transport}}))
	inside := 0 // calls of the stalled batch
	for _, d := range slices.Backward(took) {
		if d < stalls {
			break
		}
		inside++
	}
	worst := took[len(took)-1-inside]
	t.Note("a request stalls for %v with %d calls in it; the slowest other call took %v", stalls, inside, worst.Round(time.Millisecond))
	t.Must(inside > 0 && worst < patience+at(took, 99)+50*time.Millisecond, "a stalled request delays no other call by more than %v: %v", patience, worst.Round(time.Millisecond))
}
