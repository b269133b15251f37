package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/fatal"
)

// batchServer answers creates, cancels and touches without a network, so that the
// tests can use fake time.
type batchServer struct {
	*testing.T
	// reply decides about a request with these names; nil lets it succeed.
	reply func(r *http.Request, names []string) (*http.Response, error)

	mu       sync.Mutex // guards requests
	requests [][]string // the names in each request, in the order of arrival
}

type sentCall struct {
	Create, Put   *struct{ Name string }
	Cancel, Touch string
	Key           string
	IfMatch       string `json:"if_match"`
}

func (c sentCall) name() string {
	switch {
	case c.Create != nil:
		return c.Create.Name
	case c.Put != nil:
		return c.Put.Name
	}
	return c.Cancel + c.Touch
}

func (s *batchServer) RoundTrip(r *http.Request) (*http.Response, error) {
	var in struct {
		Name  string
		Calls []sentCall
	}
	if r.Body != nil {
		data, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(data, &in) != nil {
			s.Errorf("the body %s, %v", data, err)
		}
	}
	names := []string{in.Name}
	if r.URL.Path == "/v1/tasks/batch" {
		names = nil
		for _, c := range in.Calls {
			names = append(names, c.name())
		}
	} else if r.Method != http.MethodPost || r.URL.Path != "/v1/tasks" {
		names = []string{strings.Split(r.URL.Path, "/")[3]}
	}
	s.mu.Lock()
	s.requests = append(s.requests, names)
	s.mu.Unlock()
	if s.reply != nil {
		if resp, err := s.reply(r, names); resp != nil || err != nil {
			return resp, err
		}
	}
	if r.URL.Path != "/v1/tasks/batch" {
		return reply(200, nil, taskJSON(names[0])), nil
	}
	results := make([]string, len(names))
	for i, name := range names {
		results[i] = `{"status":200,"task":` + taskJSON(name) + `}`
	}
	return reply(200, nil, `{"results":[`+strings.Join(results, ",")+`]}`), nil
}

func taskJSON(name string) string {
	return fmt.Sprintf(`{"name":%q,"id":"id-%s","state":"scheduled","due_at":"2030-01-01T00:00:00Z"}`, name, name)
}

// sizes returns the number of calls in each request.
func (s *batchServer) sizes() (all []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, names := range s.requests {
		all = append(all, len(names))
	}
	return all
}

func (s *batchServer) client(o ...client.Options) *client.Client {
	s.Helper()
	options := client.Options{Retry: quick}
	if len(o) > 0 {
		options = o[0]
	}
	options.HTTPClient = &http.Client{Transport: s}
	c, err := client.New("http://foliot.test", options)
	fatal.If(s, err)
	return c
}

// created is the result of a create.
type created struct {
	name string
	task *client.Task
	err  error
}

// creates makes creates at once, and returns when all wait for something.
func creates(ctx context.Context, c *client.Client, from, to int) chan created {
	results := make(chan created, to-from)
	for i := from; i < to; i++ {
		go func() {
			name := fmt.Sprint(i)
			t, err := c.Tasks.Create(ctx, hour(name))
			results <- created{name, t, err}
		}()
	}
	synctest.Wait()
	return results
}

// gate holds requests until it opens, or until their contexts end.
func gate() (wait func(r *http.Request) error, open func()) {
	opened := make(chan struct{})
	return func(r *http.Request) error {
		select {
		case <-opened:
			return nil
		case <-r.Context().Done():
			return r.Context().Err()
		}
	}, sync.OnceFunc(func() { close(opened) })
}

func TestCallsThatAreMadeAtOnceShareRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold, open := gate()
		s := &batchServer{T: t}
		s.reply = func(r *http.Request, _ []string) (*http.Response, error) { return nil, hold(r) }
		results := creates(t.Context(), s.client(), 0, 50)
		if got := s.sizes(); !slices.Equal(got, []int{1, 1, 1, 1}) {
			t.Errorf("50 calls went out as %d", got)
		}
		open()
		for range 50 {
			if r := <-results; r.err != nil || r.task.Name != r.name || r.task.ID != "id-"+r.name {
				t.Errorf("%s: %+v, %v", r.name, r.task, r.err)
			}
		}
		if got := s.sizes(); !slices.Equal(got, []int{1, 1, 1, 1, 46}) {
			t.Errorf("50 calls went out as %d", got)
		}
	})
}

func TestACallDoesNotWaitForBatchesThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &batchServer{T: t}
		hold, open := gate()
		defer open()
		s.reply = func(r *http.Request, names []string) (*http.Response, error) {
			if n := names[0]; n < "4" && len(n) == 1 {
				return nil, hold(r)
			}
			return nil, nil
		}
		c := s.client()
		first := creates(t.Context(), c, 0, 4)
		began := time.Now()
		later := creates(t.Context(), c, 10, 30)
		for range 20 {
			if r := <-later; r.err != nil || time.Since(began) != 100*time.Millisecond {
				t.Errorf("%s after %v: %v", r.name, time.Since(began), r.err)
			}
		}
		open()
		for range 4 {
			if r := <-first; r.err != nil {
				t.Error(r.err)
			}
		}
	})
}

func TestACallThatWaitsEndsWithItsContextUnsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold, open := gate()
		s := &batchServer{T: t}
		s.reply = func(r *http.Request, _ []string) (*http.Response, error) { return nil, hold(r) }
		c := s.client()
		first := creates(t.Context(), c, 0, 4)
		ctx, cancel := context.WithCancel(t.Context())
		given := creates(ctx, c, 4, 5)
		cancel()
		if r := <-given; !errors.Is(r.err, context.Canceled) || client.MaybeApplied(r.err) {
			t.Errorf("a call that waited: %v, may be applied %v", r.err, client.MaybeApplied(r.err))
		}
		open()
		for range 4 {
			<-first
		}
		if got := s.sizes(); len(got) != 4 {
			t.Errorf("it was sent: %d", got)
		}
	})
}

// A caller that gives up gets its error at once, and the batch goes on for the
// others. If all give up, the request ends.
func TestACallUnderWayEndsWithItsContextAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		holdFirst, openFirst := gate()
		hold, open := gate()
		s := &batchServer{T: t}
		s.reply = func(r *http.Request, names []string) (*http.Response, error) {
			if len(names) == 1 {
				return nil, holdFirst(r)
			}
			return nil, hold(r)
		}
		c := s.client()
		first := creates(t.Context(), c, 0, 4)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		given, kept := creates(ctx, c, 10, 12), creates(t.Context(), c, 12, 20)
		openFirst()
		for range 4 {
			<-first
		}
		for range 2 {
			if r := <-given; !errors.Is(r.err, context.DeadlineExceeded) || !client.MaybeApplied(r.err) {
				t.Errorf("a call that gave up: %v, may be applied %v", r.err, client.MaybeApplied(r.err))
			}
		}
		open()
		for range 8 {
			if r := <-kept; r.err != nil {
				t.Error(r.err)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := &batchServer{T: t}
		ends := make(chan struct{}, 5)
		s.reply = func(r *http.Request, names []string) (*http.Response, error) {
			<-r.Context().Done()
			ends <- struct{}{}
			return nil, r.Context().Err()
		}
		c := s.client()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		all := creates(ctx, c, 0, 20)
		for range 20 {
			if r := <-all; !errors.Is(r.err, context.DeadlineExceeded) {
				t.Error(r.err)
			}
		}
		for range 5 { // four calls alone, and a batch of the others
			<-ends
		}
	})
}

// A batch that fails as a whole is sent again in smaller ones, until the call that
// is at fault fails alone.
func TestOneBadCallDoesNotFailTheOthersOfItsBatch(t *testing.T) {
	for status, code := range map[int]string{400: "bad_json", 413: "body_too_large", 500: "internal"} {
		synctest.Test(t, func(t *testing.T) {
			hold, open := gate()
			s := &batchServer{T: t}
			s.reply = func(r *http.Request, names []string) (*http.Response, error) {
				switch {
				case slices.Contains(names, "77"):
					return reply(status, http.Header{"Content-Type": {"application/problem+json"}}, fmt.Sprintf(`{"status":%d,"code":%q,"detail":"told so"}`, status, code)), nil
				case len(names) == 1:
					return nil, hold(r)
				}
				return nil, nil
			}
			c := s.client()
			results := creates(t.Context(), c, 0, 4)
			others := creates(t.Context(), c, 4, 200)
			open()
			for range 4 {
				<-results
			}
			for range 196 {
				r := <-others
				var e *client.Error
				if (r.err != nil) != (r.name == "77") {
					t.Errorf("%d: %s: %v", status, r.name, r.err)
				} else if r.err != nil && (!errors.As(r.err, &e) || e.Op != "create 77" || e.Status != status || e.Code != code) {
					t.Errorf("%d: the bad call: %v", status, r.err)
				}
			}
			for _, names := range s.requests {
				if len(names) > 1 && slices.Contains(names, "77") && len(names) > 196 {
					t.Errorf("a batch of %d", len(names))
				}
			}
		})
	}
}

// If no reply comes to a batch, its calls follow their own rules: one that may be
// applied twice is repeated, in a batch of at most half the size.
func TestABatchWithoutAReplyIsRepeatedInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold, open := gate()
		s := &batchServer{T: t}
		var largest []int
		s.reply = func(r *http.Request, names []string) (*http.Response, error) {
			if len(names) == 1 && r.URL.Path == "/v1/tasks" {
				return nil, hold(r)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if largest = append(largest, len(names)); len(largest) == 1 {
				return nil, errors.New("reset by peer")
			}
			return nil, nil
		}
		c := s.client()
		first := creates(t.Context(), c, 0, 4)
		others := creates(t.Context(), c, 4, 104)
		conditional := make(chan error, 1)
		go func() { conditional <- errOf(c.Tasks.Cancel(t.Context(), "a", client.IfMatch(`"1"`))) }()
		synctest.Wait()
		open()
		for range 4 {
			<-first
		}
		for range 100 {
			if r := <-others; r.err != nil {
				t.Error(r.err)
			}
		}
		var transport *client.TransportError
		if err := <-conditional; !errors.As(err, &transport) || transport.Op != "cancel a" || !transport.MaybeApplied {
			t.Errorf("a cancel with a condition: %v", err)
		}
		if largest[0] != 101 || len(largest) > 1 && slices.Max(largest[1:]) > 50 {
			t.Errorf("batches of %d", largest)
		}
	})
}

// An item that the server refuses has the error of the call alone, and one that it
// refuses for now is repeated alone.
func TestAnItemOfABatchFollowsItsOwnRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold, open := gate()
		s := &batchServer{T: t}
		tries := 0
		s.reply = func(r *http.Request, names []string) (*http.Response, error) {
			switch {
			case len(names) > 1:
				results := make([]string, len(names))
				for i, name := range names {
					results[i] = `{"status":201,"task":` + taskJSON(name) + `}`
					switch name {
					case "10":
						results[i] = `{"status":409,"code":"exists","detail":"a task with that name exists","id":"1","state":"dead"}`
					case "11":
						results[i] = `{"status":429,"code":"create_rate","detail":"too many","retry_after":2}`
						tries++
					case "12":
						results[i] = `{"status":201}`
					}
				}
				return reply(200, nil, `{"results":[`+strings.Join(results, ",")+`]}`), nil
			case names[0] < "4" && len(names[0]) == 1:
				return nil, hold(r)
			case names[0] == "11":
				tries++
			}
			return nil, nil
		}
		c := s.client(client.Options{})
		first := creates(t.Context(), c, 0, 4)
		began := time.Now()
		others := creates(t.Context(), c, 10, 20)
		open()
		for range 4 {
			<-first
		}
		for range 10 {
			r := <-others
			var e *client.Error
			switch errors.As(r.err, &e); r.name {
			case "10":
				want := &client.Error{Op: "create 10", Status: 409, Code: "exists", Detail: "a task with that name exists", ID: "1", State: client.StateDead}
				if diff := cmp.Diff(want, e); diff != "" || !errors.Is(r.err, client.ErrExists) {
					t.Error(diff)
				}
			case "11":
				if r.err != nil || tries != 2 || time.Since(began) < 2*time.Second {
					t.Errorf("after %v and %d tries: %v", time.Since(began), tries, r.err)
				}
			case "12":
				if e == nil || !e.MaybeApplied || !strings.Contains(r.err.Error(), "is it a Foliot server?") {
					t.Errorf("a result without a task: %v", r.err)
				}
			default:
				if r.err != nil {
					t.Error(r.err)
				}
			}
		}
	})
}

func TestNoBatchingSendsEachCallAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold, open := gate()
		s := &batchServer{T: t}
		s.reply = func(r *http.Request, _ []string) (*http.Response, error) { return nil, hold(r) }
		results := creates(t.Context(), s.client(client.Options{NoBatching: true}), 0, 20)
		if got := len(s.sizes()); got != 20 {
			t.Errorf("%d requests", got)
		}
		open()
		for range 20 {
			<-results
		}
	})
}

// The cause of a context may be any error, such as that of another goroutine of an
// errgroup which could not connect to anything. It says nothing about this call.
func TestTheCauseOfAContextDoesNotShowThatNothingWasSent(t *testing.T) {
	cause := fmt.Errorf("read the orders: %w", &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")})
	synctest.Test(t, func(t *testing.T) {
		hold, open := gate()
		s := &batchServer{T: t}
		s.reply = func(r *http.Request, names []string) (*http.Response, error) {
			if len(names) == 1 && names[0] < "4" {
				return nil, hold(r)
			}
			<-r.Context().Done()
			return nil, context.Cause(r.Context()) // as net/http does
		}
		c := s.client()
		first := creates(t.Context(), c, 0, 4)
		ctx, cancel := context.WithCancelCause(t.Context())
		together := creates(ctx, c, 50, 52)
		open()
		for range 4 {
			<-first
		}
		synctest.Wait()
		alone := creates(ctx, c, 60, 61)
		cancel(cause)
		for _, r := range []created{<-together, <-together, <-alone} {
			if !errors.Is(r.err, cause) || !client.MaybeApplied(r.err) {
				t.Errorf("%s: %v, may be applied: %v", r.name, r.err, client.MaybeApplied(r.err))
			}
		}
	})
}

// A call has its own number of requests, whatever call it shared a batch with.
func TestACallKeepsItsRepeatsAfterABatchWasDivided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold, open := gate()
		s := &batchServer{T: t}
		refused := 0
		s.reply = func(r *http.Request, names []string) (*http.Response, error) {
			switch {
			case slices.Contains(names, "bad"):
				return reply(400, http.Header{"Content-Type": {"application/problem+json"}}, `{"code":"bad_json","detail":"told so"}`), nil
			case names[0] == "10":
				if refused++; refused < 4 {
					return busy("0"), nil
				}
			case len(names) == 1 && len(names[0]) == 1:
				return nil, hold(r)
			}
			return nil, nil
		}
		c := s.client()
		first := creates(t.Context(), c, 0, 4)
		others := creates(t.Context(), c, 10, 11)
		bad := make(chan error, 1)
		go func() { bad <- errOf(c.Tasks.Create(t.Context(), hour("bad"))) }()
		synctest.Wait()
		rest := creates(t.Context(), c, 11, 40)
		open()
		for range 4 {
			<-first
		}
		if r := <-others; r.err != nil || refused != 4 {
			t.Errorf("after %d refusals: %v", refused, r.err)
		}
		if err := <-bad; err == nil {
			t.Error("the bad call succeeded")
		}
		for range 29 {
			<-rest
		}
	})
}

// The tasks of CreateMany do not fill the queue: a call that is made meanwhile waits
// for four batches at most, however many bytes the tasks have.
func TestACallDoesNotWaitForAllOfCreateMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &batchServer{T: t}
		hold, open := gate()
		s.reply = func(r *http.Request, names []string) (*http.Response, error) {
			if slices.Contains(names, "50") {
				return nil, nil
			}
			return nil, hold(r)
		}
		c := s.client()
		specs := make([]client.Spec, 72) // nine batches
		body := client.Text(strings.Repeat("x", 1<<20))
		for i := range specs {
			specs[i] = hour(fmt.Sprint("t-", i))
			specs[i].HTTP.Body = body
		}
		all := make(chan []client.Result, 1)
		go func() {
			results, _ := c.Tasks.CreateMany(t.Context(), specs)
			all <- results
		}()
		synctest.Wait()
		began := time.Now()
		one := creates(t.Context(), c, 50, 51)
		if r := <-one; r.err != nil || time.Since(began) > 100*time.Millisecond {
			t.Errorf("after %v: %v", time.Since(began), r.err)
		}
		open()
		for i, r := range <-all {
			if r.Err != nil || r.Task.Name != specs[i].Name {
				t.Errorf("%d: %+v", i, r)
			}
		}
	})
}
