package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/wire"
)

// calls sends calls as one batch.
func (s *service) calls(calls []string, headers ...string) wire.BatchReply {
	s.Helper()
	return decoded[wire.BatchReply](s.do("POST", "/v1/tasks/batch", `{"calls": [`+strings.Join(calls, ",")+`]}`, headers...), 200)
}

// single sends a call of a batch as a request of its own.
func (s *service) single(call string) reply {
	s.Helper()
	var c struct {
		Create, Put             json.RawMessage
		Cancel, Touch           string
		Key, IfMatch, NoneMatch *string
	}
	text := strings.NewReplacer(`"if_match"`, `"IfMatch"`, `"if_none_match"`, `"NoneMatch"`).Replace(call)
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		s.Fatal(err)
	}
	var headers []string
	for name, value := range map[string]*string{"Idempotency-Key": c.Key, "If-Match": c.IfMatch, "If-None-Match": c.NoneMatch} {
		if value != nil {
			headers = append(headers, name+": "+*value)
		}
	}
	switch {
	case c.Create != nil:
		return s.do("POST", "/v1/tasks", string(c.Create), headers...)
	case c.Put != nil:
		var named struct{ Name string }
		_ = json.Unmarshal(c.Put, &named) // a task may be no object
		return s.do("PUT", "/v1/tasks/"+named.Name, string(c.Put), headers...)
	case c.Cancel != "":
		return s.do("DELETE", "/v1/tasks/"+c.Cancel, "", headers...)
	}
	return s.do("POST", "/v1/tasks/"+c.Touch+"/touch", "", headers...)
}

var randomIDs = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// members returns the members of a JSON object, without the ids of tasks, which are
// random, and without the members that only a problem has.
func members(t *testing.T, text []byte) (m map[string]any) {
	t.Helper()
	if err := json.Unmarshal(randomIDs.ReplaceAll(text, []byte("ID")), &m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	delete(m, "type")
	delete(m, "title")
	return m
}

func TestACallOfABatchHasTheReplyOfASingleRequest(t *testing.T) {
	const task = `{"delay": "1h", "http": {"url": "http://example.com/", "body": {"a": 1}}, "labels": {"x": "y"}}`
	name := func(n string) string { return strings.Replace(task, "{", `{"name": "`+n+`", `, 1) }
	calls := []string{
		`{"create": ` + name("a") + `}`,
		`{"create": ` + name("a") + `}`,
		`{"create": ` + task + `, "key": "k1"}`,
		`{"key": "k1", "create": ` + task + `}`,
		`{"create": ` + strings.Replace(task, "1h", "2h", 1) + `, "key": "k1"}`,
		`{"put": ` + name("b") + `, "key": "k2"}`,
		`{"put": ` + name("b") + `, "key": "k2"}`,
		`{"put": ` + name("b") + `}`,
		`{"put": ` + name("b") + `, "if_none_match": "*"}`,
		`{"put": ` + name("b") + `, "if_match": "\"x.1\""}`,
		`{"put": ` + name("b") + `, "if_match": "*"}`,
		`{"touch": "b"}`,
		`{"touch": "b", "if_match": "\"x.1\", *"}`,
		`{"touch": "none"}`,
		`{"cancel": "a", "if_match": "\"x.1\""}`,
		`{"cancel": "a"}`,
		`{"cancel": "a"}`,
		`{"touch": "a"}`,
		`{"cancel": "none"}`,
		`{"cancel": "runs"}`,
		`{"put": ` + name("runs") + `}`,
		`{"create": ` + name("@") + `}`,
		`{"create": ` + strings.Replace(task, "http://example.com/", "example", 1) + `}`,
		`{"create": ` + strings.Replace(task, "labels", "lables", 1) + `}`,
		`{"create": ` + strings.Replace(task, `{"a": 1}`, `"`+strings.Repeat("x", 65)+`"`, 1) + `}`,
		`{"create": {"name": "k", "delay": "1h", "work": {"kind": "x"}}}`,
		`{"create": 5}`,
		`{"create": ` + strings.Replace(task, "1h", "1 hour", 1) + `, "key": "k3"}`,
		`{"create": ` + name("a") + `, "key": ""}`,
		`{"touch": "b", "if_match": "x"}`,
		`{"put": ` + name("b") + `, "if_none_match": "\"x\""}`,
	}
	synctest.Test(t, func(t *testing.T) {
		small := func(c *api.Config) { c.BodyLimit = 64 }
		one, many := serve(t, small), serve(t, small)
		for _, s := range []*service{one, many} {
			s.do("POST", "/v1/tasks", `{"name": "runs", "delay": "0s", "http": {"url": "http://example.com/"}}`).want(201, nil)
		}
		time.Sleep(time.Second)
		for _, s := range []*service{one, many} {
			s.claim("runs")
		}
		raw := decoded[struct {
			Results    []json.RawMessage
			Durability string
		}](many.do("POST", "/v1/tasks/batch", `{"calls": [`+strings.Join(calls, ",")+`]}`), 200)
		if len(raw.Results) != len(calls) || raw.Durability != "memory" {
			t.Fatalf("%d results, durability %q", len(raw.Results), raw.Durability)
		}
		seen := map[int]int{}
		for i, call := range calls {
			alone := one.single(call)
			want, got := members(t, alone.body), members(t, raw.Results[i])
			seen[alone.status]++
			if after, _ := strconv.Atoi(alone.header.Get("Retry-After")); after > 0 {
				want["retry_after"] = float64(after)
			}
			if alone.status < 300 {
				want = map[string]any{"status": float64(alone.status), "task": want}
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s:\nalone  %v\nbatch  %v", call, want, got)
			}
		}
		for _, status := range []int{200, 201, 202, 400, 403, 404, 409, 412, 413, 422} {
			if seen[status] == 0 {
				t.Errorf("no call has the status %d: %v", status, seen)
			}
		}
	})
}

func TestACallThatIsNotInFormIsRefusedAlone(t *testing.T) {
	for _, c := range []struct{ call, code, field string }{
		{`5`, "wrong_type", ""},
		{`{}`, "required", ""},
		{`{"key": "k"}`, "required", ""},
		{`{"cancel": "a", "touch": "a"}`, "conflict", "touch"},
		{`{"create": ` + hour + `, "put": ` + hour + `}`, "conflict", "put"},
		{`{"patch": ` + hour + `}`, "unknown_field", "patch"},
		{`{"cancel": 5}`, "wrong_type", "cancel"},
		{`{"cancel": "a b"}`, "bad_name", "name"},
		{`{"cancel": "a", "key": "k"}`, "conflict", "key"},
		{`{"touch": "a", "key": "k"}`, "conflict", "key"},
		{`{"create": ` + hour + `, "if_match": "*"}`, "conflict", "if_match"},
		{`{"create": ` + hour + `, "if_none_match": "*"}`, "conflict", "if_match"},
		{`{"put": {"delay": "1h", "http": {"url": "http://example.com/"}}}`, "required", "name"},
		{`{"create": ` + hour + `, "key": "k", "key": "k"}`, "duplicate_key", "key"},
	} {
		s := serve(t)
		got := s.calls([]string{c.call, `{"create": ` + hour + `}`}).Results
		if got[0].Status != 400 || got[0].Code != c.code || got[0].Field != c.field || got[0].Detail == "" || got[1].Status != 201 {
			t.Errorf("%s: %+v", c.call, got)
		}
	}
	s := serve(t)
	s.do("POST", "/v1/tasks/batch", `{"calls": [], "tasks": []}`).problem(400, "conflict", "tasks")
	s.do("POST", "/v1/tasks/batch", `{"calls": [`+strings.Repeat(`{},`, 1000)+`{}]}`).problem(400, "too_many", "calls[1000]")
	s.do("POST", "/v1/tasks/batch", `{"calls": [{"create": {"delay": }}]}`).problem(400, "bad_json", "calls[0].create.delay")
}

// A client may repeat a single request as a call of a batch, and the other way round.
func TestAKeyIsTheSameInABatchAndAlone(t *testing.T) {
	const unnamed = `{"delay": "1h", "http": {"url": "http://example.com/", "body": [1]}}`
	for _, call := range []string{
		`{"create": ` + unnamed + `, "key": "k"}`, `{"create": ` + hour + `, "key": "k"}`, `{"put": ` + hour + `, "key": "k"}`,
	} {
		for _, first := range []string{"alone", "in a batch"} {
			s := serve(t)
			ids := map[string]bool{}
			alone := func() {
				r := s.single(call)
				ids[r.task(r.status).ID] = true
			}
			batched := func() { ids[s.calls([]string{call}).Results[0].Task.ID] = true }
			if first == "alone" {
				alone()
				batched()
			} else {
				batched()
				alone()
			}
			if len(ids) != 1 || len(s.all()) != 1 {
				t.Errorf("%s, first %s: %v", call, first, ids)
			}
		}
	}
}

// The defaults of the queue have changed since the first request.
func TestACallThatIsInvalidByNowIsStillARepeat(t *testing.T) {
	s := serve(t)
	for _, verb := range []string{"create", "put"} {
		call := `{"` + verb + `": {"name": "` + verb + `", "delay": "1h", "retry": {"max_backoff": "2s"}, "http": {"url": "http://example.com/"}}, "key": "` + verb + `"}`
		first := s.calls([]string{call}).Results[0].Task
		s.do("PUT", "/v1/queues/default", `{"retry": {"min_backoff": "1m"}}`)
		again := s.calls([]string{call, strings.Replace(call, "2s", "3s", 1)}).Results
		if again[0].Task == nil || again[0].Task.ID != first.ID || again[1].Status != 400 {
			t.Errorf("%s: %+v", verb, again)
		}
		s.do("DELETE", "/v1/queues/default", "")
	}
}

func TestCallsOfABatchCountForTheRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		acme := "Foliot-Namespace: acme"
		s.do("PUT", "/v1/namespaces/acme", `{"create_rate": 0.5, "create_burst": 3, "change_rate": 2}`).want(201, nil)
		statuses := func(calls ...string) (all []string) {
			for _, r := range s.calls(calls, acme).Results {
				all = append(all, strings.Join(strings.Fields(fmt.Sprintf("%d %s %d", r.Status, r.Field, r.RetryAfter)), " "))
			}
			return all
		}
		want := func(want string, calls ...string) {
			t.Helper()
			if got := strings.Join(statuses(calls...), ", "); got != want {
				t.Errorf("%s\nwant %s", got, want)
			}
		}
		create := func(name string) string { return `{"create": ` + named(name) + `}` }
		want("201 0, 201 0, 200 0, 201 0, 429 create_rate 2, 429 create_rate 2",
			create("a"), `{"put": `+named("b")+`}`, `{"touch": "a"}`, create("c"), create("d"), `{"put": `+named("e")+`}`)
		want("200 0, 429 change_rate 1, 400 name 0", `{"cancel": "c"}`, `{"cancel": "a"}`, `{"cancel": "a b"}`)
		s.do("DELETE", "/v1/tasks/a", "", acme).problem(429, "rate_exceeded", "change_rate")
		s.do("POST", "/v1/tasks", named("d"), acme).problem(429, "rate_exceeded", "create_rate")
		time.Sleep(8 * time.Second) // three creates and two changes
		want("200 0, 200 0, 200 0", `{"put": `+named("a")+`}`, `{"put": `+named("b")+`}`, `{"put": `+named("a")+`}`)
		s.do("DELETE", "/v1/tasks/a", "", acme).problem(429, "rate_exceeded", "change_rate") // the puts replaced tasks
		time.Sleep(600 * time.Millisecond)
		s.do("DELETE", "/v1/tasks/a", "", acme).problem(429, "rate_exceeded", "change_rate")
		time.Sleep(400 * time.Millisecond)
		s.do("DELETE", "/v1/tasks/a", "", acme).want(200, nil)
	})
}

// A client that sends nothing but refused calls is delayed like one that sends
// refused requests.
func TestABatchOfRefusedCallsIsDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		acme := "Foliot-Namespace: acme"
		s.do("PUT", "/v1/namespaces/acme", `{"create_rate": 0.001}`).want(201, nil)
		s.do("POST", "/v1/tasks", named("a"), acme).want(201, nil)
		began := time.Now()
		for range 25 {
			if got := s.calls([]string{`{"create": ` + named("b") + `}`}, acme).Results[0]; got.Status != http.StatusTooManyRequests || got.RetryAfter == 0 {
				t.Fatalf("%+v", got)
			}
		}
		if d := time.Since(began); d < time.Second {
			t.Errorf("25 refused batches took %v", d)
		}
	})
}

func TestCallsAboutOneTaskAreMadeInOrder(t *testing.T) {
	s := serve(t)
	got := s.calls([]string{`{"create": ` + named("a") + `}`, `{"cancel": "a"}`, `{"put": ` + named("a") + `}`, `{"touch": "a"}`, `{"cancel": "a"}`, `{"create": ` + named("a") + `}`}).Results
	var states []string
	for _, r := range got {
		state := r.State
		if r.Task != nil {
			state = r.Task.State
		}
		states = append(states, fmt.Sprint(r.Status, " ", state))
	}
	if all := strings.Join(states, ", "); all != "201 scheduled, 200 cancelled, 201 scheduled, 200 scheduled, 200 cancelled, 409 cancelled" {
		t.Error(all)
	}
}

func TestABatchWakesThePollsOfItsTasksAndIsAudited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		s.reach("scheduled")
		s.do("POST", "/v1/tasks", named("b")).want(201, nil)
		answered := s.waiting("5m")
		span := "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		got := s.calls([]string{`{"cancel": "b"}`, `{"create": ` + named("c") + `}`, `{"touch": "b"}`, `{"cancel": "a"}`}, "Foliot-Client: page", "Traceparent: "+span)
		if made := got.Results[1].Task; made == nil || made.Traceparent != span {
			t.Errorf("%+v", got.Results[1])
		}
		if (<-answered).after != 0 {
			t.Error("the poll did not end with the cancel")
		}
		var log []string
		for _, e := range decoded[api.AuditList](s.do("GET", "/v1/audit?action=task.cancel", ""), 200).Entries {
			log = append(log, e.Target+" "+e.Detail)
		}
		if all := strings.Join(log, ", "); all != "a from the page, b from the page" {
			t.Errorf("the audit log has %s", all)
		}
	})
}

func TestEachCallOfABatchHasTheDurabilityOfItsChange(t *testing.T) {
	s, _ := serveWeak(t)
	got := s.calls([]string{`{"create": ` + named("strong") + `}`, `{"create": ` + named("weak") + `}`})
	if one, two := got.Results[0].Task.Durability, got.Results[1].Task.Durability; one != "default" || two != "async" || got.Durability != "async" {
		t.Errorf("%s and %s in a batch with %s", one, two, got.Durability)
	}
}
