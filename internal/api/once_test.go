package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

func TestAPutThatIsRepeatedIsDeliveredOnce(t *testing.T) {
	s := serve(t)
	body := strings.Replace(hour, "1h", "0s", 1)
	put := func(key, body string, headers ...string) reply {
		return s.do("PUT", "/v1/tasks/a", body, append(headers, "Idempotency-Key: "+key)...)
	}
	made := put("k", body, "If-None-Match: *").task(201)
	s.do("POST", "/v1/tasks/a/run", "").want(200, nil)
	for s.record("a").Due > task.FloorMillis(nowTime()) { // it is due in the millisecond that has begun
	}
	settle := s.claim("a")
	if got := put("k", body, "If-None-Match: *").task(200); got.ID != made.ID || got.State != "running" || !got.UnderWay {
		t.Errorf("while it runs: %+v", got)
	}
	settle(task.Success)
	if got := put("k", body, "If-None-Match: *").task(200); got.ID != made.ID || got.State != "delivered" || got.UnderWay {
		t.Errorf("after it was delivered: %+v", got)
	}
	second := put("k2", body).task(201)
	if got := put("k", body).task(200); got.ID != second.ID {
		t.Errorf("after another PUT: %+v", got)
	}
	put("k", hour).problem(422, "idempotency_key_reused", "")
	s.do("PUT", "/v1/tasks/b", strings.Replace(hour, `"a"`, `"b"`, 1), "Idempotency-Key: k2").problem(422, "idempotency_key_reused", "")
	put("", hour).problem(400, "bad_idempotency_key", "Idempotency-Key")
	if third := s.do("PUT", "/v1/tasks/a", body).task(200); third.ID == second.ID {
		t.Errorf("without a key: %+v", third)
	}
}

// swept ends the task with this name and sweeps its record.
func (s *service) swept(name string) {
	s.Helper()
	s.do("DELETE", "/v1/tasks/"+name, "").want(200, nil)
	if _, err := s.store.Sweep(s.Context(), task.CeilMillis(nowTime().Add(400*24*time.Hour)), 1000); err != nil {
		s.Fatal(err)
	}
	s.do("GET", "/v1/tasks/"+name, "").problem(404, "not_found", "")
}

// Receivers drop an id that they have seen, so no two tasks may ever share one.
func TestAWebhookIDIsUniqueForEver(t *testing.T) {
	const keyed = `{"delay": "1h", "http": {"url": "http://example.com/"}}`
	const nightly = `{"every": "1h", "start": "2020-01-01T00:00:00Z", "task": {"http": {"url": "http://example.com/"}}}`
	ids := map[string]string{}
	once := func(kind string, got wire.Task) {
		t.Helper()
		if before, used := ids[got.ID]; used || got.ID == "" {
			t.Errorf("%s has the id of %s: %s", kind, before, got.ID)
		}
		ids[got.ID] = kind
	}
	for _, installation := range []string{"one", "two"} {
		s := serve(t)
		create := func(key string) wire.Task { return s.do("POST", "/v1/tasks", keyed, "Idempotency-Key: "+key).task(201) }
		first := create("k")
		once("a key in installation "+installation, first)
		if again := create("k"); again.ID != first.ID {
			t.Errorf("the repeat has the id %s, the first %s", again.ID, first.ID)
		}
		s.swept(first.Name)
		again := create("k")
		once("the key after its record was gone", again)
		if again.Name != first.Name {
			t.Errorf("the name was %s and is %s", first.Name, again.Name)
		}
		for range 2 { // the schedule is created twice
			s.do("PUT", "/v1/schedules/nightly", nightly).want(201, nil)
			made := s.fire("nightly", nowTime().Add(time.Hour))
			once("an occurrence in installation "+installation, s.do("GET", "/v1/tasks/"+made.Name, "").task(200))
			once("a task with the name of an occurrence as its key", create(made.Name))
			trigger := s.do("POST", "/v1/schedules/nightly/trigger", "", "Idempotency-Key: k3").task(201)
			once("a trigger", trigger)
			s.swept(made.Name)
			s.swept(trigger.Name)
			s.swept(task.DeriveName("default", made.Name))
			trigger = s.do("POST", "/v1/schedules/nightly/trigger", "", "Idempotency-Key: k3").task(201)
			once("the trigger again", trigger)
			s.swept(trigger.Name)
			s.do("DELETE", "/v1/schedules/nightly", "").want(200, nil)
		}
	}
}
