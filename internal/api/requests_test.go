package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

func nowTime() time.Time { return time.Now() }

func TestAnIdempotencyKeyCreatesOnce(t *testing.T) {
	s := serve(t)
	nameless := `{"delay": "1h", "http": {"url": "http://example.com/", "body": "x"}}`
	first := s.do("POST", "/v1/tasks", nameless, "Idempotency-Key: k1").task(201)
	again := s.do("POST", "/v1/tasks", nameless, "Idempotency-Key: k1").task(201)
	if first.ID != again.ID || first.DueAt != again.DueAt || first.Name == first.ID || first.Name != task.DeriveName("default", "k1") {
		t.Errorf("first %+v, again %+v", first, again)
	}
	s.do("POST", "/v1/tasks", strings.Replace(nameless, "1h", "2h", 1), "Idempotency-Key: k1").problem(422, "idempotency_key_reused", "")
	if other := s.do("POST", "/v1/tasks", nameless, "Idempotency-Key: k2").task(201); other.ID == first.ID {
		t.Error("another key came to the same task")
	}

	named := s.do("POST", "/v1/tasks", hour, "Idempotency-Key: k3").task(201)
	if again := s.do("POST", "/v1/tasks", hour, "Idempotency-Key: k3").task(201); again.ID != named.ID || named.Name != "a" {
		t.Errorf("first %+v, again %+v", named, again)
	}
	if p := s.do("POST", "/v1/tasks", hour).problem(409, "exists", ""); !strings.Contains(p.Detail, "use PUT") {
		t.Errorf("the problem names no way out: %s", p.Detail)
	}
	s.do("POST", "/v1/tasks", hour, "Idempotency-Key: k4").problem(409, "exists", "")
	s.do("POST", "/v1/tasks", strings.Replace(hour, `"a"`, `"b"`, 1), "Idempotency-Key: k3").problem(422, "idempotency_key_reused", "")
	if n := len(s.all()); n != 3 {
		t.Errorf("%d tasks, want 3", n)
	}
}

// HTTP joins the values of a list by commas. Cookies have another separator, and
// single values none.
func TestPublishJoinsOnlyHeadersThatAreLists(t *testing.T) {
	s := serve(t)
	const target = "/v1/publish?url=http%3A%2F%2Fexample.com%2F"
	made := s.do("POST", target, "", "Foliot-Forward-Cookie: a=1", "Foliot-Forward-Cookie: b=2, c", "Foliot-Forward-Accept: x", "Foliot-Forward-Accept: y").task(201)
	if sent := s.record(made.Name).Request.Headers; sent["Cookie"] != "a=1; b=2, c" || sent["Accept"] != "x, y" {
		t.Errorf("it sends %v", sent)
	}
	for _, name := range []string{"Foliot-Forward-Authorization", "Foliot-Forward-Set-Cookie", "Content-Disposition"} {
		s.do("POST", target, "", name+": a/a", name+": b/b").problem(400, "repeated_parameter", name)
	}
}

// A client that repeats a request may encode it anew: from a map, through a library
// that writes defaults, or in another language.
func TestARepeatMayHaveAnotherEncoding(t *testing.T) {
	s := serve(t)
	for _, route := range []string{"POST /v1/tasks", "PUT /v1/tasks/a"} {
		method, path, _ := strings.Cut(route, " ")
		key := "Idempotency-Key: " + method
		first := s.do(method, path, `{"name": "a", "at": "2100-01-02T15:04:05Z", "http": {"url": "http://example.com/", "headers": {"X-A": "1", "x-b": "2"}, "body": {"n": 1, "s": ["ä", {"x": 1, "y": 2}]}}}`, key).task(201)
		other := `{ "http": {"method": "POST", "body": { "s": ["\u00e4", {"y": 2, "x": 1}], "n": 1}, "url": "http:\/\/example.com/", "headers": {"X-B": "2", "x-a": "1"}},
			"at": "2100-01-02T16:04:05.000+01:00", "name": "a", "queue": "default", "priority": "normal", "labels": {}, "timeout": "15000ms", "retry": {"max_attempts": 0, "max_age": "1440m"}}`
		status := map[string]int{"POST": 201, "PUT": 200}[method]
		if again := s.do(method, path, other, key).task(status); again.ID != first.ID {
			t.Errorf("%s: %+v, want %s", route, again, first.ID)
		}
		for old, changed := range map[string]string{`"x": 1`: `"x": 2`, `"n": 1`: `"n": 2`, `{"y": 2, "x": 1}]`: `{"y": 2}, {"x": 1}]`, "15000ms": "16s", `"X-B": "2"`: `"X-B": "3"`, "16:04": "16:05", "normal": "low"} {
			s.do(method, path, strings.Replace(other, old, changed, 1), key).problem(422, "idempotency_key_reused", "")
		}
		s.do("DELETE", "/v1/tasks/a", "").want(200, nil)
	}
	target := "/v1/publish?url=http%3A%2F%2Fexample.com%2F"
	first := s.do("POST", target, `{"a": 1, "b": 2}`, "Idempotency-Key: k").task(201)
	if again := s.do("POST", target, `{"b":2,"a":1}`, "Idempotency-Key: k", "Foliot-Delay: 0s", "Foliot-Queue: default").task(201); again.ID != first.ID {
		t.Errorf("publish: %+v, want %s", again, first.ID)
	}
	s.do("POST", target, `{"b":2,"a":1}`, "Idempotency-Key: k", "Content-Type: text/plain").problem(422, "idempotency_key_reused", "")
}

func TestAnEntityTagGuardsChanges(t *testing.T) {
	s := serve(t)
	old := s.do("POST", "/v1/tasks", hour).header.Get("ETag")
	tag := s.do("PATCH", "/v1/tasks/a", `{"delay": "2h"}`, "If-Match: "+old).want(200, nil).header.Get("ETag")
	if tag == old {
		t.Fatal("the change left the entity tag")
	}
	for _, call := range []string{
		"PUT /v1/tasks/a " + hour, `PATCH /v1/tasks/a {"delay": "3h"}`,
		"POST /v1/tasks/a/touch ", "POST /v1/tasks/a/run ", "POST /v1/tasks/a/retry ", "DELETE /v1/tasks/a ",
	} {
		parts := strings.SplitN(call, " ", 3)
		for _, stale := range []string{"If-Match: " + old, "If-Match: W/" + tag, `If-Match: "*"`, "If-None-Match: *"} {
			s.do(parts[0], parts[1], parts[2], stale).problem(412, "precondition_failed", "")
		}
	}
	if got := s.record("a"); got.Version != 2 {
		t.Fatalf("a stale change took effect: %+v", got)
	}
	s.do("POST", "/v1/tasks/a/touch", "", "If-Match: "+old+", "+tag).want(200, nil)
	s.do("DELETE", "/v1/tasks/a", "", "If-Match: *").want(200, nil)
	s.do("PUT", "/v1/tasks/b", strings.Replace(hour, `"a"`, `"b"`, 1), "If-None-Match: *").want(201, nil)
}

// The tag does not change with the state: a 304 would hide a delivery.
func TestAGetReturnsTheWholeTaskDespiteIfNoneMatch(t *testing.T) {
	s := serve(t)
	tag := s.do("POST", "/v1/tasks", hour).header.Get("ETag")
	for _, known := range []string{tag, "W/" + tag, "*"} {
		s.do("GET", "/v1/tasks/a", "", "If-None-Match: "+known).want(200, nil)
	}
}

func TestAPatchMerges(t *testing.T) {
	s := serve(t)
	s.do("POST", "/v1/tasks", `{"name": "a", "queue": "q", "delay": "1h", "timeout": "1s", "expire_after": "1h", "priority": "low", "labels": {"a": "1", "b": "2"},
		"http": {"url": "http://example.com/", "method": "PUT", "headers": {"X-A": "1", "X-B": "2"}, "body": "x"}, "retry": {"max_attempts": 3, "max_age": "1h"}}`).want(201, nil)
	s.do("PATCH", "/v1/tasks/a", `{"labels": {"a": null, "c": "3"}, "http": {"headers": {"x-a": null, "x-b": "3"}, "body": {"a": null}}, "retry": {"max_attempts": 5}}`).want(200, nil)
	got := s.do("GET", "/v1/tasks/a", "").task(200)
	if fmt.Sprint(got.Labels) != "map[b:2 c:3]" || fmt.Sprint(got.HTTP.Headers) != "map[x-b:3]" || string(got.HTTP.Body) != `{"a": null}` ||
		*got.Retry.MaxAttempts != 5 || got.Retry.MaxAge != "1h" || got.Queue != "q" || got.HTTP.Method != "PUT" {
		t.Errorf("merged: %+v", got)
	}
	s.do("PATCH", "/v1/tasks/a", `{"queue": null, "timeout": null, "expire_after": null, "priority": null, "http": {"method": null, "body": null}, "retry": {"max_attempts": null, "max_age": null}}`,
		"Content-Type: application/merge-patch+json").want(200, nil)
	got = s.do("GET", "/v1/tasks/a", "").task(200)
	if got.Queue != "default" || got.Timeout != "15s" || got.ExpireAfter != "" || got.Priority != "normal" || got.HTTP.Method != "POST" ||
		got.HTTP.Body != nil || got.BodySize != 0 || *got.Retry.MaxAttempts != 0 || got.Retry.MaxAge != "24h" {
		t.Errorf("back to the defaults: %+v", got)
	}
	moved := s.do("PATCH", "/v1/tasks/a", `{"at": "2031-01-01T00:00:00Z"}`).task(200)
	if moved.At != "2031-01-01T00:00:00.000Z" || moved.Delay != "" || moved.DueAt != moved.At {
		t.Errorf("moved: %+v", moved)
	}
}

func TestABatchAnswersInOrder(t *testing.T) {
	s := serve(t)
	var items []string
	for i := range 1000 {
		items = append(items, fmt.Sprintf(`{"name": "t%d", "delay": "1h", "http": {"url": "http://example.com/%d"}}`, i, i))
	}
	items[500] = items[499]
	got := decoded[wire.BatchReply](s.do("POST", "/v1/tasks/batch", `{"tasks": [`+strings.Join(items, ",")+`]}`), 200)
	if len(got.Results) != 1000 || got.Durability != "memory" {
		t.Fatalf("%d results, %s", len(got.Results), got.Durability)
	}
	for i, r := range got.Results {
		if i == 500 {
			if r.Status != 409 || r.Code != "exists" || r.ID != got.Results[499].ID || r.State != "scheduled" {
				t.Errorf("a name twice, want the id %s and the state: %+v", got.Results[499].ID, r)
			}
		} else if r.Status != 201 || r.Name != fmt.Sprintf("t%d", i) || r.ID == "" || r.DueAt == "" {
			t.Errorf("item %d: %+v", i, r)
		}
	}
	s.do("POST", "/v1/tasks/batch", `{"tasks": []}`).want(200, &got)
}

func TestAProblemsPathIsShort(t *testing.T) {
	s := serve(t)
	bomb := `{"tasks": [{"name": "a", "delay": "1h", "http": {"url": "http://example.com/", "body": ` + strings.Repeat("[", 100_000) + `}}]}`
	r := s.do("POST", "/v1/tasks/batch", bomb)
	var p wire.Problem
	if err := json.Unmarshal(r.body, &p); err != nil || p.Code != "too_deep" || len(p.Field) > 600 {
		t.Errorf("%v: code %s, a field of %d bytes", err, p.Code, len(p.Field))
	}
}

func TestAListIsReadPageByPage(t *testing.T) {
	s := serve(t)
	for i := range 25 {
		s.do("POST", "/v1/tasks", fmt.Sprintf(`{"name": "t%02d", "queue": "q%d", "delay": "%dh", "labels": {"n": "%d", "k": "v"}, "http": {"url": "http://example.com/", "body": "x"}}`, i, i%2, i+1, i%5)).want(201, nil)
	}
	read := func(query string) (names []string, pages int) {
		cursor := ""
		for {
			var page api.TaskList
			target := "/v1/tasks?limit=4&" + query
			if cursor != "" {
				target += "&cursor=" + cursor
			}
			s.do("GET", target, "").want(200, &page)
			if len(page.Tasks) > 4 {
				t.Fatalf("a page of %d", len(page.Tasks))
			}
			for _, x := range page.Tasks {
				names = append(names, x.Name)
				if (x.HTTP.Body != nil) != strings.Contains(query, "include=body") || x.BodySize != 1 {
					t.Errorf("%s: body %s of %d", query, x.HTTP.Body, x.BodySize)
				}
			}
			pages++
			if cursor = page.NextCursor; cursor == "" {
				return names, pages
			}
		}
	}
	if names, pages := read(""); len(names) != 25 || pages < 7 || !slices.IsSorted(names) || len(slices.Compact(names)) != 25 {
		t.Errorf("%d pages: %v", pages, names)
	}
	tenth := time.Now().Add(10*time.Hour + 30*time.Minute).UTC().Format(time.RFC3339Nano)
	for query, want := range map[string]int{
		"include=body": 25, "queue=q0": 13, "label=n%3D1": 5, "label=n%3D1&label=k%3Dv": 5, "label=n%3D1&label=k%3Dw": 0, "queue=q1&label=n%3D1": 3,
		"state=scheduled": 25, "state=dead": 0, "state=dead&state=scheduled": 25,
		"due_before=" + tenth: 10, "due_after=" + tenth: 15, "due_before=1970-01-01T00:00:00Z": 0, "due_after=1970-01-01T00:00:00Z": 25,
	} {
		if names, _ := read(query); len(names) != want {
			t.Errorf("%s: %d tasks, want %d", query, len(names), want)
		}
	}
}

func TestCancelByFilterCancelsTheMatchingTasks(t *testing.T) {
	s := serve(t)
	createTasks(s, 1200) // more than one page
	s.reach("running")
	got := decoded[wire.BulkReply](s.do("POST", "/v1/tasks/cancel?queue=q0", ""), 200)
	if got.Changed != 600 || got.Accepted != 0 || got.Durability != "memory" {
		t.Errorf("queue q0: %+v", got)
	}
	got = decoded[wire.BulkReply](s.do("POST", "/v1/tasks/cancel?all=true", "{}"), 200)
	if got.Changed != 600 || got.Accepted != 1 || got.Skipped != 0 {
		t.Errorf("the rest: %+v", got)
	}
	for _, x := range s.all() {
		if x.State != task.Cancelled && x.Name != "a" {
			t.Fatalf("%s is %s", x.Name, x.State)
		}
	}
}

func TestMoveByFilterMovesTheScheduledTasks(t *testing.T) {
	s := serve(t)
	createTasks(s, 1200)
	s.do("PATCH", "/v1/tasks/t4", `{"at": "2040-01-01T00:00:00Z"}`).want(200, nil)
	before := s.record("t2").Due
	s.do("DELETE", "/v1/tasks/t6", "").want(200, nil)
	got := decoded[wire.BulkReply](s.do("POST", "/v1/tasks/move?queue=q0&due_before=2039-01-01T00:00:00Z", `{"by": "-30m"}`), 200)
	if got.Changed != 598 || got.Skipped != 0 || got.Durability != "memory" {
		t.Errorf("by -30m: %+v", got)
	}
	if moved := s.record("t2"); moved.Due != before.Add(-30*time.Minute) || !moved.Relative || moved.Delay != time.Hour {
		t.Errorf("it is due at %v, not half an hour before %v", moved.Due, before)
	}
	got = decoded[wire.BulkReply](s.do("POST", "/v1/tasks/move?prefix=t11&expect=111", `{"at": "2041-01-01T00:00:00Z"}`), 200)
	if got.Changed != 111 || s.do("GET", "/v1/tasks/t1100", "").task(200).At != "2041-01-01T00:00:00.000Z" {
		t.Errorf("at: %+v", got)
	}
	got = decoded[wire.BulkReply](s.do("POST", "/v1/tasks/move?all=true&state=cancelled&state=scheduled&queue=q0", `{"by": "876000h"}`), 200)
	if got.Changed == 0 || got.Skipped != 57 { // the cancelled task, and those due in 2040 and 2041, which would be due in more than 100 years
		t.Errorf("by 100 years: %+v", got)
	}
	for body, code := range map[string]string{
		`{}`: "required", `{"at": "2041-01-01T00:00:00Z", "by": "1h"}`: "two_due_times", `{"by": "0s"}`: "out_of_range", `{"by": "876001h"}`: "out_of_range",
		`{"queue": "q"}`: "unknown_field", `{"at": "2441-01-01T00:00:00Z"}`: "out_of_range", `{"delay": "-1s"}`: "out_of_range",
	} {
		if p := s.do("POST", "/v1/tasks/move?all=true", body); !strings.Contains(string(p.body), `"code":"`+code+`"`) || p.status != 400 {
			t.Errorf("%s: %d %s", body, p.status, p.body)
		}
	}
}

func TestADryRunCountsAndChangesNothing(t *testing.T) {
	s := serve(t)
	createTasks(s, 1200)
	s.reach("dead")
	before := s.all()
	for _, c := range []struct {
		target, body     string
		matched, example int
	}{
		{"cancel?all=true", "", 1201, 20},
		{"cancel?prefix=t110", "", 11, 11},
		{"retry?all=true", "", 1, 1},
		{"move?queue=q1", `{"by": "1h"}`, 600, 20},
		{"move?queue=none", `{"delay": "1h"}`, 0, 0},
		{"cancel?queue=q1&expect=600", "", 600, 20},
	} {
		got := decoded[wire.BulkReply](s.do("POST", "/v1/tasks/"+c.target+"&dry_run=true", c.body), 200)
		if got.Matched == nil || *got.Matched != c.matched || len(got.Examples) != c.example || got.Changed != 0 || got.Durability != "" {
			t.Errorf("%s: %+v", c.target, got)
		}
	}
	s.do("POST", "/v1/tasks/cancel?queue=q1&expect=599&dry_run=true", "").problem(412, "count_differs", "expect")
	s.do("POST", "/v1/tasks/cancel?queue=q1&dry_run=1", "").problem(400, "bad_parameter", "dry_run")
	s.do("POST", "/v1/tasks/cancel?dry_run=true", "").problem(400, "no_filter", "")
	if after := s.all(); !reflect.DeepEqual(before, after) {
		t.Errorf("a dry run changed tasks: %s", cmp.Diff(before, after))
	}
}

// A + in a query means a space, so clients that forget to encode it see why.
func TestATimeWithAnUnencodedPlusIsExplained(t *testing.T) {
	s := serve(t)
	s.do("PUT", "/v1/schedules/a", `{"every": "1h", "task": {"http": {"url": "http://example.com/"}}}`).want(201, nil)
	for _, target := range []string{"/v1/tasks?due_before=", "/v1/tasks?due_after=", "/v1/tasks?ended_after=", "/v1/audit?from=", "/v1/audit?until=", "/v1/upcoming?from=", "/v1/schedules/a/preview?from="} {
		p := s.do("GET", target+"2030-01-02T15:04:05+01:00", "").problem(400, "bad_time", target[strings.IndexByte(target, '?')+1:len(target)-1])
		if !strings.Contains(p.Detail, "%2B") {
			t.Errorf("%s: %s", target, p.Detail)
		}
		if r := s.do("GET", target+"2030-01-02T15:04:05%2B01:00", ""); strings.Contains(string(r.body), "bad_time") {
			t.Errorf("%s: %s", target, r.body)
		}
	}
}

func TestAPrefixMustBeTheBeginningOfAName(t *testing.T) {
	s := serve(t)
	for _, name := range []string{"order-1", "order-2", "orders"} {
		s.do("PUT", "/v1/tasks/"+name, `{"delay": "1h", "http": {"url": "http://example.com/"}}`).want(201, nil)
	}
	for _, wrong := range []string{"", "-", "a%20b", "a%2Fb", strings.Repeat("a", 257)} {
		s.do("GET", "/v1/tasks?prefix="+wrong, "").problem(400, "bad_name", "prefix")
		s.do("POST", "/v1/tasks/cancel?prefix="+wrong, "").problem(400, "bad_name", "prefix")
	}
	var got wire.BulkReply
	if s.do("POST", "/v1/tasks/cancel?prefix=order-", "").want(200, &got); got.Changed != 2 || s.record("orders").State != task.Scheduled {
		t.Errorf("%+v", got)
	}
}

func TestRetryByFilterRevivesTheDead(t *testing.T) {
	s := serve(t)
	s.reach("dead")
	s.do("POST", "/v1/tasks", strings.Replace(hour, `"a"`, `"b"`, 1)).want(201, nil)
	got := decoded[wire.BulkReply](s.do("POST", "/v1/tasks/retry?state=scheduled", ""), 200)
	if got.Changed != 0 || got.Skipped != 1 {
		t.Errorf("tasks that are not dead: %+v", got)
	}
	got = decoded[wire.BulkReply](s.do("POST", "/v1/tasks/retry?queue=default", ""), 200)
	if got.Changed != 1 || got.Skipped != 0 || s.record("a").State != task.Scheduled {
		t.Errorf("the dead: %+v", got)
	}
}

func TestPublishForwardsBodyAndHeaders(t *testing.T) {
	s := serve(t)
	got := s.do("POST", "/v1/publish?url=http%3A%2F%2Fexample.com%2F", `{"n": 1}`,
		"Content-Type: application/json; charset=utf-8", "X-Shop: 7", "X-Many: a", "X-Many: b", "User-Agent: shop/1",
		"Authorization: Bearer ours", "Cookie: session=ours", "Origin: http://localhost:8750", "Accept-Encoding: gzip", "Sec-Fetch-Site: same-origin",
		"Connection: close", "Keep-Alive: 5", "Te: trailers", "Proxy-Authorization: x", "Webhook-Id: x",
		"Content-Encoding: identity", "Content-Language: en", "Content-Disposition: inline", "Content-Digest: sha-256=:eA==:",
		"Foliot-Forward-X-Shop: 7", "Foliot-Forward-X-Many: a", "Foliot-Forward-X-Many: b", "Foliot-Forward-User-Agent: shop/2", "Foliot-Forward-Authorization: Bearer theirs",
		"Foliot-Delay: 30m", "Foliot-Name: p", "Foliot-Queue: q", "Foliot-Retries: 2", "Idempotency-Key: k").task(201)
	if got.Name != "p" || got.Queue != "q" || *got.Retry.MaxAttempts != 3 || got.Delay != "30m" || got.HTTP.Method != "POST" {
		t.Errorf("got %+v", got)
	}
	if want := "map[Authorization:Bearer theirs Content-Digest:sha-256=:eA==: Content-Disposition:inline Content-Encoding:identity Content-Language:en " +
		"Content-Type:application/json; charset=utf-8 User-Agent:shop/2 X-Many:a, b X-Shop:7]"; fmt.Sprint(got.HTTP.Headers) != want {
		t.Errorf("headers %v, want %s", got.HTTP.Headers, want)
	}
	if r := s.record("p").Request; r.BodyKind != task.JSONBody || string(r.Body) != `{"n": 1}` {
		t.Errorf("body %q of kind %d", r.Body, r.BodyKind)
	}
}

// TestPublishForwardsNothingThatAProxyAdded: proxies add headers about a caller
// for this server. Receivers must not get them.
func TestPublishForwardsNothingThatAProxyAdded(t *testing.T) {
	s := serve(t)
	got := s.do("POST", "/v1/publish?url=http%3A%2F%2Fexample.com%2F", "x", "Content-Type: text/plain",
		"X-Forwarded-For: 203.0.113.7", "X-Forwarded-Host: inside", "X-Forwarded-Client-Cert: Hash=1", "Forwarded: for=203.0.113.7", "X-Real-Ip: 203.0.113.7", "Via: 1.1 proxy",
		"X-Amzn-Oidc-Data: eyJ", "X-Amzn-Oidc-Accesstoken: eyJ", "X-Amzn-Trace-Id: Root=1", "Cf-Access-Jwt-Assertion: eyJ", "Cf-Connecting-Ip: 203.0.113.7", "X-Goog-Iap-Jwt-Assertion: eyJ",
		"X-Goog-Authenticated-User-Email: a@example.com", "X-Ms-Client-Principal: e30=", "X-Ms-Token-Aad-Access-Token: eyJ", "X-Auth-Request-Access-Token: eyJ", "X-Remote-User: a",
		"Ssl-Client-Cert: MII", "X-Ssl-Client-S-Dn: CN=a", "X-Client-Cert: MII", "X-Request-Id: 1", "X-Envoy-Original-Path: /", "Tailscale-User-Login: a@example.com", "X-Vault-Token: s.1",
		"X-Api-Key: k", "Tracestate: a=b", "Baggage: user=a", "Priority: u=1", "Early-Data: 1", "User-Agent: shop/1", "Accept: */*", "Referer: http://inside/", "Content-Location: /inside").task(201)
	if want := "map[Content-Type:text/plain]"; fmt.Sprint(got.HTTP.Headers) != want {
		t.Errorf("headers %v, want %s", got.HTTP.Headers, want)
	}
}

func TestPublishTakesAnyBody(t *testing.T) {
	for _, c := range []struct {
		media, body string
		kind        task.BodyKind
	}{
		{"text/plain", "hä", task.TextBody},
		{"text/plain", "\xff", task.BinaryBody},
		{"application/json", `{"a": `, task.BinaryBody},
		{"application/octet-stream", "\x00\xff", task.BinaryBody},
		{"", "x", task.BinaryBody},
		{"not a type", "x", task.BinaryBody},
		{"text/plain", "", task.NoBody},
	} {
		s := serve(t)
		got := s.do("POST", "/v1/publish?url=http%3A%2F%2Fexample.com%2F", c.body, "Content-Type: "+c.media).task(201)
		if r := s.record(got.Name).Request; r.BodyKind != c.kind || string(r.Body) != c.body {
			t.Errorf("%s %q: body %q of kind %d", c.media, c.body, r.Body, r.BodyKind)
		}
		if got.Delay != "0s" || got.DueAt != got.CreatedAt {
			t.Errorf("published at %s without a time: due %s", got.CreatedAt, got.DueAt)
		}
	}
}

func TestARepeatedPublishIsRecognised(t *testing.T) {
	s := serve(t)
	const target = "/v1/publish?url=http%3A%2F%2Fexample.com%2F"
	first := s.do("POST", target, "x", "Idempotency-Key: k", "Traceparent: 1").task(201)
	if again := s.do("POST", target, "x", "Idempotency-Key: k", "Traceparent: 2").task(201); again.ID != first.ID {
		t.Errorf("created again: %+v", again)
	}
	s.do("POST", target, "y", "Idempotency-Key: k").problem(422, "idempotency_key_reused", "")
	s.do("POST", target, "x", "Idempotency-Key: k", "Foliot-Delay: 1h").problem(422, "idempotency_key_reused", "")
}

func TestHealth(t *testing.T) {
	s := serve(t)
	h := decoded[wire.Health](s.do("GET", "/healthz", ""), 200)
	s.do("GET", "/readyz", "").want(200, &h)
	if h.Status != "ok" || h.Version != "test" {
		t.Errorf("got %+v", h)
	}
	fatal.If(t, s.store.Close())
	r := s.do("GET", "/readyz", "")
	r.problem(503, "unavailable", "")
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	s.do("GET", "/healthz", "").want(200, nil)
	s.do("POST", "/v1/tasks", hour).problem(503, "unavailable", "")
	s.do("POST", "/v1/tasks/batch", `{"tasks": [`+hour+`]}`).problem(503, "unavailable", "")
	s.do("GET", "/v1/tasks", "").problem(503, "unavailable", "")
}

func TestAStoppingServerIsNotReady(t *testing.T) {
	s := serve(t)
	s.Stop()
	s.Stop()
	s.do("GET", "/readyz", "").problem(503, "unavailable", "")
	s.do("POST", "/v1/tasks", hour).want(201, nil)
}

func TestTheBodyLimitIsTheOperators(t *testing.T) {
	large := withHTTP(`"body": "` + strings.Repeat("x", 300<<10) + `"`)
	serve(t).do("POST", "/v1/tasks", large).problem(413, "body_too_large", "http.body")
	half := serve(t, func(c *api.Config) { c.BodyLimit = 512 << 10 })
	half.do("POST", "/v1/tasks", large).want(201, nil)
	beyond := withHTTP(`"body": "` + strings.Repeat("x", 1<<20+1) + `"`)
	serve(t, func(c *api.Config) { c.BodyLimit = 1 << 30 }).do("POST", "/v1/tasks", beyond).problem(413, "body_too_large", "http.body")
}

func TestABodyIsReadUpToTheLimit(t *testing.T) {
	for target, limit := range map[string]int{"/v1/tasks": 2 << 20, "/v1/tasks/batch": 16 << 20, "/v1/publish?url=http%3A%2F%2Fexample.com%2F": 256 << 10} {
		s := serve(t)
		for _, announced := range []int64{-1, 1 << 40} {
			endless := &counting{}
			r := httptest.NewRequest("POST", target, endless)
			r.Host, r.ContentLength = "localhost", announced
			r.Header.Set("Content-Type", "application/json")
			got := s.send(r)
			if got.status != 413 {
				t.Errorf("%s: %d %s", target, got.status, got.body)
			}
			if announced > 0 && endless.read > 0 || endless.read > limit+1 {
				t.Errorf("%s: %d bytes were read where %d are announced", target, endless.read, announced)
			}
		}
	}
}

// counting is an endless body.
type counting struct{ read int }

func (c *counting) Read(p []byte) (int, error) {
	n, err := spaces{}.Read(p)
	c.read += n
	return n, err
}

type tornBody struct{}

func (tornBody) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// Endless bodies must not fill the memory, and those of one namespace must not
// keep out another.
func TestBodiesTakeBoundedMemoryTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		s.namespace("acme")
		s.namespace("other")
		acme, other := s.token("acme", settings.ScopeWrite), s.token("other", settings.ScopeWrite)
		const whole = 16 << 20
		stuck, read := make(chan struct{}), make(chan struct{})
		replies := make(chan reply)
		for range 16 { // acme may have three of them
			go func() {
				replies <- s.upload(acme, io.MultiReader(io.LimitReader(spaces{}, whole-1), during(func() { read <- struct{}{}; <-stuck })))
			}()
		}
		for range 3 {
			<-read
		}
		synctest.Wait()
		for range 13 {
			r := <-replies
			if r.problem(429, "too_many_at_once", ""); r.header.Get("Retry-After") == "" {
				t.Error("the reply has no Retry-After")
			}
		}
		s.upload(other, io.MultiReader(io.LimitReader(spaces{}, 1<<20), strings.NewReader(`{"tasks": []}`))).want(200, nil)
		s.do("POST", "/v1/tasks", hour, acme).want(201, nil)
		close(stuck)
		for range 3 {
			(<-replies).problem(400, "empty_body", "")
		}
		s.upload(acme, io.MultiReader(io.LimitReader(spaces{}, 1<<20), strings.NewReader(`{"tasks": []}`))).want(200, nil)
	})
}

// upload sends a batch without an announced length.
func (s *service) upload(header string, body io.Reader) reply {
	s.Helper()
	r := httptest.NewRequest("POST", "/v1/tasks/batch", body)
	r.Host, r.ContentLength = "localhost", -1
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", strings.TrimPrefix(header, "Authorization: "))
	return s.send(r)
}

// spaces is an endless reader of spaces.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) { return copy(p, blank), nil }

var blank = strings.Repeat(" ", 64<<10)

func TestABodyThatEndsEarlyCreatesNothing(t *testing.T) {
	s := serve(t)
	for _, target := range []string{"/v1/tasks", "/v1/tasks/batch", "/v1/publish?url=http%3A%2F%2Fexample.com%2F"} {
		r := httptest.NewRequest("POST", target, io.MultiReader(strings.NewReader(hour), tornBody{}))
		r.Host, r.ContentLength = "localhost", int64(len(hour)+1)
		r.Header.Set("Content-Type", "application/json")
		s.send(r).problem(400, "unreadable_body", "")
	}
	if n := len(s.all()); n != 0 {
		t.Errorf("stored %d tasks", n)
	}
}

func TestADeadNoticeWithALongNameIsListedReadAndCancelled(t *testing.T) {
	s := serve(t)
	long := strings.Repeat("a", task.MaxNameLen)
	s.do("POST", "/v1/tasks", `{"name":"`+long+`","delay":"0s","on_dead":"https://example.com/dead","http":{"url":"https://example.com/"}}`).task(201)
	s.do("POST", "/v1/tasks", `{"name":"z","delay":"1h","http":{"url":"https://example.com/"}}`).task(201)
	time.Sleep(2 * time.Millisecond) // delays are rounded up
	s.claim(long)(task.Refusal)
	var names []string
	for target := "/v1/tasks?limit=1"; ; {
		page := decoded[api.TaskList](s.do("GET", target, ""), 200)
		for _, one := range page.Tasks {
			names = append(names, one.Name)
			s.do("GET", "/v1/tasks/"+one.Name, "").task(200)
		}
		if page.NextCursor == "" {
			break
		}
		target = "/v1/tasks?limit=1&cursor=" + url.QueryEscape(page.NextCursor)
	}
	if len(names) != 3 || !strings.HasPrefix(names[1], long+"@dead.") {
		t.Fatalf("listed %q", names)
	}
	s.do("DELETE", "/v1/tasks/"+names[1], "").task(200)
}
