package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// waiting starts a long poll. It returns the reply and its delay.
func (s *service) waiting(wait string) <-chan answer {
	answered := make(chan answer, 1)
	start := time.Now()
	go func() {
		r := s.do("GET", "/v1/tasks/a?wait="+wait, "")
		answered <- answer{r, time.Since(start)}
	}()
	synctest.Wait()
	return answered
}

type answer struct {
	reply
	after time.Duration
}

func (a answer) want(t *testing.T, state string, earliest, latest time.Duration) {
	t.Helper()
	if got := a.task(200); got.State != state || a.after < earliest || a.after > latest {
		t.Errorf("%s after %v, want %s after %v to %v", got.State, a.after, state, earliest, latest)
	}
}

func TestAWaitEndsWithTheTask(t *testing.T) {
	for state, v := range map[string]task.Verdict{"delivered": task.Success, "dead": task.Refusal} {
		synctest.Test(t, func(t *testing.T) {
			s := serve(t)
			settle := s.reach("running")
			answered := s.waiting("5m")
			time.Sleep(100 * time.Second)
			settle(v)
			(<-answered).want(t, state, 100*time.Second, 101*time.Second) // without a notification
		})
	}
}

func TestANotifiedWaitEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		settle := s.reach("running")
		one, other := s.waiting("5m"), s.waiting("5m")
		time.Sleep(10*time.Second + time.Millisecond)
		settle(task.Success)
		s.Notify(task.Key{Namespace: "default", Name: "b"}, task.Key{Namespace: "default", Name: "a"})
		for _, answered := range []<-chan answer{one, other} {
			(<-answered).want(t, "delivered", 10*time.Second+time.Millisecond, 10*time.Second+time.Millisecond)
		}
	})
}

func TestACancelEndsAWait(t *testing.T) {
	for _, call := range []string{"DELETE /v1/tasks/a", "POST /v1/tasks/cancel?all=true"} {
		synctest.Test(t, func(t *testing.T) {
			s := serve(t)
			s.reach("scheduled")
			answered := s.waiting("5m")
			method, target, _ := strings.Cut(call, " ")
			s.do(method, target, "").want(200, nil)
			(<-answered).want(t, "cancelled", 0, 0)
		})
	}
}

func TestAWaitReturnsThePresentStateAtItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		s.reach("scheduled")
		(<-s.waiting("30s")).want(t, "scheduled", 30*time.Second, 30*time.Second)
		(<-s.waiting("0s")).want(t, "scheduled", 0, 0)
		s.do("DELETE", "/v1/tasks/a", "").want(200, nil)
		(<-s.waiting("30s")).want(t, "cancelled", 0, 0)
	})
}

func TestAStopEndsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		s.reach("scheduled")
		answered := s.waiting("5m")
		s.Stop()
		(<-answered).want(t, "scheduled", 0, 0)
		(<-s.waiting("5m")).want(t, "scheduled", 0, 0)
	})
}

func TestAWaitEndsWithItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		s.reach("scheduled")
		ctx, leave := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, "GET", "/v1/tasks/a?wait=5m", nil)
		r.Host = "localhost"
		answered := make(chan reply, 1)
		go func() { answered <- s.send(r) }()
		synctest.Wait()
		leave()
		(<-answered).problem(503, "unavailable", "") // the reply must not be 200
	})
}

// Each wait occupies a connection and memory: the waits of one namespace must
// not keep out another.
func TestWaitsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		s.namespace("acme")
		const acme, half = "Foliot-Namespace: acme", 5000
		for _, namespace := range []string{"Foliot-Namespace: default", acme} {
			s.do("POST", "/v1/tasks", hour, namespace).want(201, nil)
		}
		var waits sync.WaitGroup
		for range half {
			waits.Go(func() {
				if status := s.status("/v1/tasks/a?wait=5s"); status != 200 {
					t.Errorf("a wait: status %d", status)
				}
			})
		}
		synctest.Wait()
		if r := s.do("GET", "/v1/tasks/a?wait=1m", ""); r.problem(503, "unavailable", "wait").Detail == "" || r.header.Get("Retry-After") == "" {
			t.Errorf("%v %s", r.header, r.body)
		}
		s.do("GET", "/v1/tasks/a?wait=0s", "").want(200, nil) // does not wait
		s.do("GET", "/v1/tasks/a", "").want(200, nil)
		s.do("GET", "/v1/tasks/a?wait=1s", "", acme).want(200, nil)
		s.do("POST", "/v1/tasks", named("b")).want(201, nil)
		s.do("DELETE", "/v1/tasks/b", "").want(200, nil)
		s.do("GET", "/v1/tasks/b?wait=1m", "").want(200, nil) // neither
		waits.Wait()
		s.do("GET", "/v1/tasks/a?wait=1s", "").want(200, nil)
	})
}

// A wait exceeds the deadlines of ordinary requests.
func TestAWaitMayBeLongerThanTheServersTimeouts(t *testing.T) {
	quick.Leave(t, "waits for timeouts")
	s := serve(t)
	s.reach("scheduled")
	srv := httptest.NewUnstartedServer(s)
	srv.Config.ReadTimeout, srv.Config.WriteTimeout = 500*time.Millisecond, 500*time.Millisecond
	srv.Config.IdleTimeout = time.Minute // not under test; otherwise it is ReadTimeout
	srv.Start()
	defer srv.Close()
	client := srv.Client()
	for range 2 { // twice on the same connection
		resp, err := client.Get(srv.URL + "/v1/tasks/a?wait=1s")
		fatal.If(t, err)
		if resp.Body.Close(); resp.StatusCode != http.StatusOK {
			t.Errorf("status %d", resp.StatusCode)
		}
	}
}

func TestAWaitContinuesForAReplacedTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		s.reach("scheduled")
		answered := s.waiting("1m")
		s.do("PUT", "/v1/tasks/a", hour).want(200, nil)
		var w wire.Task
		a := <-answered
		a.reply.want(200, &w)
		if a.after != time.Minute || w.Version != 1 {
			t.Errorf("after %v: %+v", a.after, w)
		}
	})
}
