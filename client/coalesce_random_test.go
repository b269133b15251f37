package client_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/client"
)

// faultyServer applies calls, or loses requests and replies at random.
type faultyServer struct {
	batchServer

	random  *rand.Rand // guarded by mu, as applied
	applied map[string]int
}

func (s *faultyServer) roll(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(n)
}

func (s *faultyServer) apply(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		s.applied[name]++
	}
}

func (s *faultyServer) answer(r *http.Request, names []string) (*http.Response, error) {
	fate := s.roll(14)
	switch fate {
	case 0:
		return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	case 1:
		return busy("1"), nil
	case 2:
		return reply(413, nil, "too large"), nil
	}
	wait := time.Duration(s.roll(300)) * time.Millisecond
	if s.roll(20) == 0 {
		wait = 70 * time.Second // longer than the client's Timeout
	}
	select {
	case <-time.After(wait):
	case <-r.Context().Done():
		if s.roll(2) == 0 {
			s.apply(names...)
		}
		return nil, context.Cause(r.Context())
	}
	if fate == 3 {
		return nil, errors.New("reset by peer")
	}
	together := r.URL.Path == "/v1/tasks/batch"
	results := make([]string, len(names))
	for i, name := range names {
		if together && s.roll(10) == 0 {
			results[i] = fmt.Sprintf(`{"status":%d,"code":"busy","detail":"later","retry_after":1}`, 429+74*s.roll(2))
			continue
		}
		s.apply(name)
		results[i] = `{"status":200,"task":` + taskJSON(name) + `}`
	}
	switch {
	case fate == 4:
		return nil, errors.New("reset by peer")
	case together:
		return reply(200, nil, `{"results":[`+strings.Join(results, ",")+`]}`), nil
	}
	return reply(200, nil, taskJSON(names[0])), nil
}

// check compares the result of a call with what the server did. A call that must not
// be repeated is applied at most once.
func (s *faultyServer) check(name string, got *client.Task, err error, once bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch n := s.applied[name]; {
	case err == nil && (got == nil || got.Name != name || n == 0):
		s.Errorf("%s was applied %d times, and its result is %+v", name, n, got)
	case err != nil && n > 0 && !client.MaybeApplied(err):
		s.Errorf("%s was applied %d times, but its error does not say so: %v", name, n, err)
	case once && n > 1:
		s.Errorf("%s was applied %d times", name, n)
	}
}

func TestNoCallIsLostOrHasAFalseResult(t *testing.T) {
	seeds := uint64(30)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			s := &faultyServer{batchServer: batchServer{T: t}, random: rand.New(rand.NewPCG(seed, 48)), applied: map[string]int{}}
			s.reply = s.answer
			c := s.client(client.Options{})
			var all sync.WaitGroup
			for i := range 150 {
				all.Go(func() {
					time.Sleep(time.Duration(s.roll(400)) * time.Millisecond)
					ctx, name := t.Context(), fmt.Sprint("call-", i)
					if s.roll(3) == 0 {
						var cancel func()
						ctx, cancel = context.WithTimeout(ctx, time.Duration(s.roll(3000))*time.Millisecond)
						defer cancel()
					}
					switch s.roll(5) {
					case 0:
						got, err := c.Tasks.Cancel(ctx, name, client.IfMatch(`"1.1"`))
						s.check(name, got.Task, err, true)
					case 1:
						specs := make([]client.Spec, 1+s.roll(30))
						for j := range specs {
							specs[j] = hour(fmt.Sprint(name, "-", j))
						}
						results, _ := c.Tasks.CreateMany(ctx, specs) // each result has its error
						for j, r := range results {
							s.check(specs[j].Name, r.Task, r.Err, false)
						}
					default:
						got, err := c.Tasks.Create(ctx, hour(name))
						s.check(name, got, err, false)
					}
				})
			}
			all.Wait()
		})
	}
}
