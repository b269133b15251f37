package api_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// serveAt returns a service with a clock that set changes.
func serveAt(t *testing.T, begin time.Time) (s *service, set func(time.Time)) {
	now := begin
	return serve(t, func(c *api.Config) { c.Now = func() time.Time { return now } }), func(at time.Time) { now = at }
}

var elsewhen = time.Date(2040, 2, 29, 12, 0, 0, 0, time.UTC)

func TestRecordedTimesDependOnTheGivenClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := serveAt(t, elsewhen)
		requests := []struct{ method, path, body string }{
			{"POST", "/v1/tasks", `{"name": "a", "delay": "1h", "http": {"url": "https://r.example/"}}`},
			{"PUT", "/v1/tasks/b", `{"queue": "q", "delay": "1h", "http": {"url": "https://r.example/"}}`},
			{"POST", "/v1/tasks/batch", `{"tasks": [{"name": "c", "delay": "1h", "http": {"url": "https://r.example/"}}]}`},
			{"POST", "/v1/publish?url=https://r.example/", `{}`},
			{"PATCH", "/v1/tasks/a", `{"delay": "2h"}`},
			{"POST", "/v1/tasks/a/touch", ""},
			{"POST", "/v1/tasks/a/run", ""},
			{"DELETE", "/v1/tasks/a", ""},
			{"POST", "/v1/tasks/cancel?queue=q", ""},
			{"PUT", "/v1/queues/q", `{"rate": 1}`},
			{"POST", "/v1/queues/q/pause", `{"for": "1h"}`},
			{"POST", "/v1/queues/q/purge", ""},
			{"PUT", "/v1/namespaces/n", `{}`},
			{"POST", "/v1/secrets", `{}`},
			{"POST", "/v1/tokens", `{"scope": "admin", "namespace": "*", "expires_in": "1h"}`},
		}
		for _, r := range requests { // only publish uses the header
			if got := s.do(r.method, r.path, r.body, "Foliot-Delay: 1h", "Foliot-Client: page"); got.status >= 300 {
				t.Errorf("%s %s: %d %s", r.method, r.path, got.status, got.body)
			}
		}
		want := task.CeilMillis(elsewhen)
		log, err := s.store.Audit(t.Context(), settings.AuditFilter{}, 0, 100)
		if err != nil || len(log.Entries) < len(requests)/2 {
			t.Errorf("%d entries of %d requests, %v", len(log.Entries), len(requests), err)
		}
		for _, e := range log.Entries {
			if e.At != want {
				t.Errorf("%s %s is said to be of %v", e.Action, e.Target, e.At.Time())
			}
		}
		for _, r := range s.all() {
			if r.CreatedAt != want || r.State == task.Scheduled && r.Due != want.Add(time.Hour) {
				t.Errorf("%s was created at %v, and is due at %v", r.Name, r.CreatedAt.Time(), r.Due.Time())
			}
		}
		if q := s.store.Standing().Settings.Queue("default", "q"); q.PausedUntil != want.Add(time.Hour) || q.PurgeBefore != want.Add(settings.PurgeSkew) {
			t.Errorf("the queue: %+v", q)
		}
	})
}

func TestHoldsAndExpiryDependOnTheGivenClock(t *testing.T) {
	s, set := serveAt(t, elsewhen)
	s.do("POST", "/v1/tasks", `{"name": "a", "delay": "0s", "http": {"url": "https://r.example/"}}`).want(201, nil)
	s.do("POST", "/v1/queues/default/pause", `{"for": "1h"}`).want(201, nil)
	var made, lasting wire.Token
	s.do("POST", "/v1/tokens", `{"scope": "admin", "namespace": "*"}`).want(201, &lasting)
	token := "Authorization: Bearer " + lasting.Token
	s.do("POST", "/v1/tokens", `{"scope": "admin", "namespace": "*", "expires_in": "2h"}`, token).want(201, &made)
	short := "Authorization: Bearer " + made.Token

	state := func() string { return s.do("GET", "/v1/tasks/a", "", token).task(200).State }
	held := func() int {
		list := decoded[api.TaskList](s.do("GET", "/v1/tasks?state=held", "", token), 200)
		return len(list.Tasks)
	}
	if got := state(); got != "held" || held() != 1 {
		t.Errorf("during the pause it is %s, and %d are held", got, held())
	}
	set(elsewhen.Add(time.Hour))
	if got := state(); got != "scheduled" || held() != 0 {
		t.Errorf("after the pause it is %s, and %d are held", got, held())
	}
	if q := s.do("GET", "/v1/queues/default", "", token).queue(200); q.Paused {
		t.Errorf("after the pause: %+v", q)
	}
	set(elsewhen.Add(2*time.Hour - time.Millisecond))
	s.do("GET", "/v1/tasks/a", "", short).want(200, nil)
	set(elsewhen.Add(2 * time.Hour))
	s.do("GET", "/v1/tasks/a", "", short).problem(401, "token_invalid", "Authorization")
	tokens := decoded[api.TokenList](s.do("GET", "/v1/tokens", "", token), 200)
	for _, k := range tokens.Tokens {
		if k.ID == made.ID && k.State != "expired" {
			t.Errorf("a token that is refused is %s", k.State)
		}
	}
}
