package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/task"
)

// A fault happens to the first request of a call. Later requests reach the
// server.
type fault func(api http.Handler, w http.ResponseWriter, r *http.Request)

var faults = map[string]fault{
	// A client cannot distinguish these two.
	"dropped before it was carried out": func(http.Handler, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	"carried out, and the answer lost": func(api http.Handler, _ http.ResponseWriter, r *http.Request) {
		api.ServeHTTP(discard{}, r)
		panic(http.ErrAbortHandler)
	},
	"503": func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "0")
		problem(w, 503, "unavailable")
	},
	"502 of a proxy": func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "<html>", http.StatusBadGateway)
	},
	"an answer that breaks off": func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte(`{"name":`))
	},
}

type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

func problem(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type":"about:blank","title":"x","status":%d,"detail":"told so","code":%q}`, status, code)
}

// calls are all calls that change or read the existing task "a", that create
// the tasks "b" and "p", or that use the schedule "a".
var calls = map[string]struct {
	repeated bool
	call     func(context.Context, *client.Client) error
}{
	"Get":    {true, func(ctx context.Context, c *client.Client) error { return errOf(c.Tasks.Get(ctx, "a")) }},
	"Page":   {true, func(ctx context.Context, c *client.Client) error { return errOf(c.Tasks.Page(ctx, client.Query{}, "")) }},
	"Create": {true, func(ctx context.Context, c *client.Client) error { return errOf(c.Tasks.Create(ctx, hour("b"))) }},
	"Publish": {true, func(ctx context.Context, c *client.Client) error {
		return errOf(c.Tasks.Publish(ctx, client.Publication{URL: "http://127.0.0.1:9/", Name: "p", Delay: time.Hour}))
	}},
	"Put":    {true, func(ctx context.Context, c *client.Client) error { return errOf(c.Tasks.Put(ctx, hour("a"))) }},
	"Touch":  {true, func(ctx context.Context, c *client.Client) error { return errOf(c.Tasks.Touch(ctx, "a")) }},
	"Cancel": {true, func(ctx context.Context, c *client.Client) error { return errOf(c.Tasks.Cancel(ctx, "a")) }},
	"Put with a condition": {true, func(ctx context.Context, c *client.Client) error {
		return errOf(c.Tasks.Put(ctx, hour("a"), client.IfMatch("*")))
	}},
	"Cancel with a condition": {false, func(ctx context.Context, c *client.Client) error {
		return errOf(c.Tasks.Cancel(ctx, "a", client.IfMatch("*")))
	}},
	"Patch": {false, func(ctx context.Context, c *client.Client) error {
		return errOf(c.Tasks.Patch(ctx, "a", client.Patch{Queue: client.Set("q")}))
	}},
	"Run":   {false, func(ctx context.Context, c *client.Client) error { return errOf(c.Tasks.Run(ctx, "a")) }},
	"Retry": {false, func(ctx context.Context, c *client.Client) error { return errOf(c.Tasks.Retry(ctx, "a")) }},
	"CancelMatching": {false, func(ctx context.Context, c *client.Client) error {
		return errOf(c.Tasks.CancelMatching(ctx, client.Filter{All: true}))
	}},
	"Put of a schedule": {true, func(ctx context.Context, c *client.Client) error { return errOf(c.Schedules.Put(ctx, "a", minutely())) }},
	"Put of a schedule with a condition": {false, func(ctx context.Context, c *client.Client) error {
		return errOf(c.Schedules.Put(ctx, "a", minutely(), client.IfMatch("*")))
	}},
	"Pause of a schedule":  {true, func(ctx context.Context, c *client.Client) error { return errOf(c.Schedules.Pause(ctx, "a")) }},
	"Resume of a schedule": {true, func(ctx context.Context, c *client.Client) error { return errOf(c.Schedules.Resume(ctx, "a")) }},
	"Delete of a schedule": {false, func(ctx context.Context, c *client.Client) error { return errOf(c.Schedules.Delete(ctx, "a")) }},
	"Trigger":              {true, func(ctx context.Context, c *client.Client) error { return errOf(c.Schedules.Trigger(ctx, "a")) }},
	"Backfill": {true, func(ctx context.Context, c *client.Client) error {
		return errOf(c.Schedules.Backfill(ctx, "a", midnight, midnight))
	}},
	"Preview": {true, func(ctx context.Context, c *client.Client) error {
		return errOf(c.Schedules.Preview(ctx, "a", midnight, 1))
	}},
	"RetryMatching": {false, func(ctx context.Context, c *client.Client) error {
		return errOf(c.Tasks.RetryMatching(ctx, client.Filter{All: true}))
	}},
}

// midnight is an instant of minutely.
var midnight = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// A call that may be applied twice is repeated and succeeds, whichever fault
// its first request met. All others are sent once, and report that they may
// have been applied.
func TestOnlyCallsThatMayBeAppliedTwiceAreRepeated(t *testing.T) {
	for what, fault := range faults {
		for name, k := range calls {
			t.Run(what+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := serve(t)
				c := s.client()
				fatal.If(t, errOf(c.Tasks.Create(t.Context(), hour("a"))))
				must[*client.Schedule](t)(c.Schedules.Put(t.Context(), "a", minutely()))
				var tries atomic.Int64
				s.through = func(api http.Handler, w http.ResponseWriter, r *http.Request) {
					if tries.Add(1) == 1 {
						fault(api, w, r)
						return
					}
					api.ServeHTTP(w, r)
				}
				err := k.call(t.Context(), c)
				switch {
				case k.repeated && (err != nil || tries.Load() < 2):
					t.Errorf("%d tries, %v", tries.Load(), err)
				case !k.repeated && (err == nil || tries.Load() != 1 || !client.MaybeApplied(err)):
					t.Errorf("%d tries, may be done %v: %v", tries.Load(), client.MaybeApplied(err), err)
				}
				if got := s.count(); got > 2 {
					t.Errorf("there are %d tasks", got)
				}
			})
		}
	}
}

// count returns the number of records.
func (s *server) count() int {
	s.Helper()
	listing, err := s.store.List(context.WithoutCancel(s.Context()), task.Filter{Namespace: task.DefaultNamespace}, task.Page{Limit: 1000})
	fatal.If(s, err)
	return len(listing.Tasks)
}

// After a 429, or if the server is not there, nothing was applied: every call
// is repeated.
func TestACallThatWasCertainlyNotAppliedIsRepeated(t *testing.T) {
	for name, k := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			c := s.client()
			var tries atomic.Int64
			s.through = func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
				tries.Add(1)
				problem(w, 429, "too_many_requests")
			}
			if err := k.call(t.Context(), c); !errors.Is(err, client.ErrRateLimited) || tries.Load() != 4 || client.MaybeApplied(err) {
				t.Errorf("a server that is too busy: %d tries, %v", tries.Load(), err)
			}
			var dials atomic.Int64
			nowhere, err := client.New("http://127.0.0.1:1", client.Options{Retry: quick, HTTPClient: &http.Client{Transport: &http.Transport{
				DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
					dials.Add(1)
					return (&net.Dialer{}).DialContext(ctx, network, addr)
				},
			}}})
			fatal.If(t, err)
			var transport *client.TransportError
			if err := k.call(t.Context(), nowhere); !errors.As(err, &transport) || dials.Load() != 4 || client.MaybeApplied(err) {
				t.Errorf("nobody listens: %d dials, %v", dials.Load(), err)
			}
		})
	}
}

// The repeat of a cancel that was applied finds a cancelled task, and reports
// it.
func TestACancelWithALostReplyReportsACancelledTask(t *testing.T) {
	s := serve(t)
	c := s.client()
	fatal.If(t, errOf(c.Tasks.Create(t.Context(), hour("a"))))
	var lost atomic.Bool
	s.through = func(api http.Handler, w http.ResponseWriter, r *http.Request) {
		if !lost.Swap(true) {
			faults["carried out, and the answer lost"](api, w, r)
		}
		api.ServeHTTP(w, r)
	}
	got, err := c.Tasks.Cancel(t.Context(), "a")
	if err != nil || got.UnderWay || !got.Already || got.Task.State != client.StateCancelled {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := c.Tasks.Cancel(t.Context(), "a"); err != nil || got.UnderWay || !got.Already {
		t.Errorf("a second cancel: %+v, %v", got, err)
	}
}

// The repeat of a put that was applied finds its task delivered, and creates no
// other.
func TestAPutWithALostReplyIsDeliveredOnce(t *testing.T) {
	s := serve(t)
	c := s.client()
	var tries atomic.Int64
	var first string
	s.through = func(api http.Handler, w http.ResponseWriter, r *http.Request) {
		if tries.Add(1) > 1 {
			api.ServeHTTP(w, r)
			return
		}
		recorded := httptest.NewRecorder()
		api.ServeHTTP(recorded, r)
		var made client.Task
		if err := json.Unmarshal(recorded.Body.Bytes(), &made); err != nil {
			t.Error(err)
		}
		first = made.ID
		s.claim("a")(task.Success)
		panic(http.ErrAbortHandler)
	}
	got, err := c.Tasks.Put(t.Context(), client.Spec{Name: "a", HTTP: client.HTTP{URL: "http://127.0.0.1:9/"}})
	if err != nil || tries.Load() != 2 || got.ID != first || got.State != client.StateDelivered {
		t.Errorf("%d tries, the first made %s: %+v, %v", tries.Load(), first, got, err)
	}
}

// The error of the last request must not hide that an earlier one may have been
// applied.
func TestMaybeAppliedCoversEarlierRequests(t *testing.T) {
	s := serve(t)
	c := s.client()
	var tries atomic.Int64
	s.through = func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
		if tries.Add(1) == 1 {
			panic(http.ErrAbortHandler)
		}
		problem(w, 409, "exists")
	}
	if _, err := c.Tasks.Put(t.Context(), hour("a")); !errors.Is(err, client.ErrExists) || !client.MaybeApplied(err) {
		t.Errorf("%v, may be done: %v", err, client.MaybeApplied(err))
	}
}

// net/http itself repeats a request with an Idempotency-Key if a connection that it
// used before breaks. If the server is gone by then, the error is that of the second
// request, which was not sent.
func TestARequestThatNetHTTPRepeatedMayBeApplied(t *testing.T) {
	s := serve(t)
	c := s.client(client.Options{Retry: client.RetryPolicy{Attempts: 2, MinBackoff: time.Millisecond}})
	fatal.If(t, errOf(c.Tasks.Create(t.Context(), hour("a"))))
	s.through = func(api http.Handler, _ http.ResponseWriter, r *http.Request) {
		s.listener.Close()
		api.ServeHTTP(discard{}, r)
		panic(http.ErrAbortHandler)
	}
	_, err := c.Tasks.Create(t.Context(), hour("b"))
	if err == nil || s.count() != 2 || !client.MaybeApplied(err) {
		t.Errorf("%d tasks, %v, may be applied: %v", s.count(), err, client.MaybeApplied(err))
	}
}

// transport answers without a network, so that the test can use fake time.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func reply(status int, header http.Header, body string) *http.Response {
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: header, Body: io.NopCloser(strings.NewReader(body))}
}

func offline(t *testing.T, o client.Options, f transport) *client.Client {
	o.HTTPClient = &http.Client{Transport: f}
	c, err := client.New("http://foliot.test", o)
	fatal.If(t, err)
	return c
}

const busyReply = `{"code":"unavailable","detail":"stopping"}`

func busy(after string) *http.Response {
	return reply(503, http.Header{"Content-Type": {"application/problem+json"}, "Retry-After": {after}}, busyReply)
}

func TestPausesDoubleAndSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		c := offline(t, client.Options{Retry: client.RetryPolicy{Attempts: 7, MinBackoff: time.Second, MaxBackoff: 10 * time.Second}}, func(*http.Request) (*http.Response, error) {
			at = append(at, time.Now())
			return nil, errors.New("broken")
		})
		if _, err := c.Tasks.Get(t.Context(), "a"); err == nil || len(at) != 7 {
			t.Fatalf("%d tries, %v", len(at), err)
		}
		whole := time.Second
		exact := 0
		for i := 1; i < len(at); i++ {
			pause := at[i].Sub(at[i-1])
			if pause < whole/2 || pause > whole {
				t.Errorf("pause %d is %v, want between %v and %v", i, pause, whole/2, whole)
			}
			if pause == whole || pause == whole/2 {
				exact++
			}
			whole = min(2*whole, 10*time.Second)
		}
		if exact == len(at)-1 {
			t.Error("the pauses have no jitter")
		}
	})
}

func TestRetryAfterIsObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		tries := 0
		after := "3"
		c := offline(t, client.Options{}, func(*http.Request) (*http.Response, error) {
			if tries++; tries == 1 {
				return busy(after), nil
			}
			return reply(200, nil, `{"name":"a","state":"scheduled"}`), nil
		})
		if _, err := c.Tasks.Get(t.Context(), "a"); err != nil || time.Since(began) < 3*time.Second || time.Since(began) > 4*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		began, tries, after = time.Now(), 0, time.Now().Add(5*time.Second).UTC().Format(http.TimeFormat)
		if _, err := c.Tasks.Get(t.Context(), "a"); err != nil || time.Since(began) < 4*time.Second || time.Since(began) > 6*time.Second {
			t.Errorf("a date: after %v: %v", time.Since(began), err)
		}
		// A Retry-After longer than any caller waits is returned at once.
		began, tries, after = time.Now(), 0, "3600"
		_, err := c.Tasks.Get(t.Context(), "a")
		var e *client.Error
		if !errors.As(err, &e) || e.RetryAfter != time.Hour || time.Since(began) != 0 || !errors.Is(err, client.ErrUnavailable) {
			t.Errorf("after %v: %#v", time.Since(began), err)
		}
	})
}

// A server that refuses after a long time has used up the time for repeats.
func TestNoRequestBeginsLaterThanWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for took, want := range map[time.Duration]int{0: 4, 2 * time.Second: 2, 3 * time.Second: 1} {
			tries := 0
			c := offline(t, client.Options{Retry: client.RetryPolicy{Attempts: 9, Within: 4 * time.Second}}, func(*http.Request) (*http.Response, error) {
				tries++
				time.Sleep(took)
				return busy("1"), nil
			})
			began := time.Now()
			if _, err := c.Tasks.Get(t.Context(), "a"); !errors.Is(err, client.ErrUnavailable) || tries != want || time.Since(began) > 4*time.Second+took {
				t.Errorf("a refusal after %v: %d tries in %v, want %d: %v", took, tries, time.Since(began), want, err)
			}
		}
	})
}

func TestTheContextEndsTheRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		c := offline(t, client.Options{Retry: client.RetryPolicy{Attempts: 100}}, func(*http.Request) (*http.Response, error) {
			tries++
			return busy("5"), nil
		})
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Second)
		defer cancel()
		_, err := c.Tasks.Get(ctx, "a")
		if !errors.Is(err, client.ErrUnavailable) || tries != 3 || ctx.Err() != nil {
			t.Errorf("a deadline: %d tries in %v, %v", tries, time.Since(began), err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		defer cancel()
		time.AfterFunc(time.Second, cancel)
		began = time.Now()
		_, err = c.Tasks.Get(ctx, "a")
		if !errors.Is(err, context.Canceled) || !errors.Is(err, client.ErrUnavailable) || time.Since(began) != time.Second {
			t.Errorf("a cancelled context: after %v, %v", time.Since(began), err)
		}
	})
}

func TestASlowReplyIsATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		began := time.Now()
		_, err := offline(t, client.Options{Timeout: 2 * time.Second}, hang).Tasks.Run(t.Context(), "a")
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 2*time.Second || !client.MaybeApplied(err) || !strings.Contains(err.Error(), "timed out") {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := offline(t, client.Options{}, hang).Tasks.Get(ctx, "a"); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// The store and the client together: 1000 creates over a connection that is cut
// now and then create 1000 tasks.
func TestNoTaskIsCreatedTwiceOrLostOverABadConnection(t *testing.T) {
	s := serve(t)
	c := s.client(client.Options{Retry: client.RetryPolicy{Attempts: 20, MinBackoff: time.Microsecond, MaxBackoff: time.Millisecond}})
	var n atomic.Int64
	s.through = func(api http.Handler, w http.ResponseWriter, r *http.Request) {
		switch n.Add(1) % 5 {
		case 1:
			panic(http.ErrAbortHandler)
		case 3:
			api.ServeHTTP(discard{}, r)
			panic(http.ErrAbortHandler)
		}
		api.ServeHTTP(w, r)
	}
	const workers, each = 32, 25
	ended := make(chan error, workers)
	for range workers {
		go func() {
			for range each {
				if _, err := c.Tasks.Create(t.Context(), hour("")); err != nil {
					ended <- err
					return
				}
			}
			ended <- nil
		}()
	}
	for range workers {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if got := s.count(); got != workers*each {
		t.Errorf("%d tasks, want %d", got, workers*each)
	}
}
