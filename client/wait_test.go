package client_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/task"
)

func TestAWaitEndsWithTheTask(t *testing.T) {
	s := serve(t)
	c := s.client()
	now := hour("a")
	now.Delay = 0
	must[*client.Task](t)(c.Tasks.Create(t.Context(), now))
	settle := s.claim("a")
	polled := make(chan struct{}, 8)
	s.through = func(api http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("wait") {
			polled <- struct{}{}
		}
		api.ServeHTTP(w, r)
	}
	go func() {
		<-polled
		settle(task.Success)
	}()
	got := must[*client.Task](t)(c.Tasks.Wait(t.Context(), "a"))
	if got.State != client.StateDelivered || len(got.Attempts) != 1 {
		t.Errorf("%+v", got)
	}
	if again := must[*client.Task](t)(c.Tasks.Wait(t.Context(), "a")); again.ID != got.ID {
		t.Errorf("%+v", again)
	}
	if _, err := c.Tasks.Wait(t.Context(), "nobody"); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
}

func TestAPollReturnsTheStateAfterItsTime(t *testing.T) {
	c := serve(t).client()
	must[*client.Task](t)(c.Tasks.Create(t.Context(), hour("a")))
	if got := must[*client.Task](t)(c.Tasks.Poll(t.Context(), "a", 10*time.Millisecond)); got.State != client.StateScheduled {
		t.Errorf("%+v", got)
	}
	var e *client.Error
	if _, err := c.Tasks.Poll(t.Context(), "a", time.Hour); !errors.As(err, &e) || e.Field != "wait" {
		t.Error(err)
	}
}

func TestAWaitSeesThatItsTaskWasReplaced(t *testing.T) {
	s := serve(t)
	c := s.client()
	must[*client.Task](t)(c.Tasks.Create(t.Context(), hour("a")))
	s.through = func(api http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("wait") {
			must[*client.Task](t)(c.Tasks.Put(t.Context(), hour("a")))
			r.URL.RawQuery = ""
		}
		api.ServeHTTP(w, r)
	}
	if _, err := c.Tasks.Wait(t.Context(), "a"); !errors.Is(err, client.ErrReplaced) {
		t.Error(err)
	}
}

const waiting, delivered = `{"name":"a","id":"1","state":"running"}`, `{"name":"a","id":"1","state":"delivered"}`

// Wait does not fail during a restart, which takes seconds.
func TestAWaitOutlivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c := offline(t, client.Options{}, func(r *http.Request) (*http.Response, error) {
			switch since := time.Since(began); {
			case since < time.Second:
				return reply(200, nil, waiting), nil // a server that is stopping answers at once
			case since < 40*time.Second:
				return nil, errors.New("connection refused")
			}
			return reply(200, nil, delivered), nil
		})
		got, err := c.Tasks.Wait(t.Context(), "a")
		if err != nil || got.State != client.StateDelivered || time.Since(began) < 40*time.Second {
			t.Errorf("after %v: %+v, %v", time.Since(began), got, err)
		}
	})
}

func TestAWaitDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		var transport atomic.Bool
		c := offline(t, client.Options{}, func(r *http.Request) (*http.Response, error) {
			requests++
			if transport.Load() {
				return nil, errors.New("connection refused")
			}
			return reply(200, nil, waiting), nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		if _, err := c.Tasks.Wait(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 10*time.Second || requests > 50 {
			t.Errorf("a deadline: %d requests in %v, %v", requests, time.Since(began), err)
		}
		began = time.Now()
		time.AfterFunc(3*time.Second, func() { transport.Store(true) })
		_, err := c.Tasks.Wait(t.Context(), "a")
		if err == nil || !strings.Contains(err.Error(), "connection refused") || time.Since(began) < time.Minute || time.Since(began) > 3*time.Minute {
			t.Errorf("a server that stays away: after %v, %v", time.Since(began), err)
		}
		began = time.Now()
		hangs := offline(t, client.Options{}, func(r *http.Request) (*http.Response, error) {
			if time.Since(began) < time.Second {
				return reply(200, nil, waiting), nil
			}
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		if _, err := hangs.Tasks.Wait(t.Context(), "a"); err == nil || time.Since(began) < time.Minute || time.Since(began) > 3*time.Minute {
			t.Errorf("a server that says nothing: after %v, %v", time.Since(began), err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		transport.Store(false)
		time.AfterFunc(time.Second, cancel)
		if _, err := c.Tasks.Wait(ctx, "a"); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
