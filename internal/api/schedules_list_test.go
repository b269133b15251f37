package api_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
	"github.com/foliot/foliot/internal/wire"
)

// Routes of tasks and queues do not list, change or count schedules.
func TestAScheduleIsNotATask(t *testing.T) {
	s := serve(t)
	s.do("PUT", "/v1/schedules/a", hourly).want(201, nil)
	before := string(s.do("GET", "/v1/schedules/a", "").want(200, nil).body)
	for _, name := range []string{"@a", "%40a"} {
		path := "/v1/tasks/" + name
		for _, route := range []string{"GET ", "PUT ", "PATCH ", "DELETE ", "POST /touch", "POST /run", "POST /retry"} {
			method, below, _ := strings.Cut(route, " ")
			body := map[string]string{"PUT": `{"delay": "1h", "http": {"url": "http://example.com/"}}`, "PATCH": `{"timeout": "1s"}`}[method]
			s.do(method, path+below, body).problem(400, "bad_name", "name")
		}
	}
	s.do("POST", "/v1/tasks", named("@a")).problem(400, "bad_name", "name")
	s.do("POST", "/v1/publish?url=http%3A%2F%2Fexample.com%2F", "x", "Foliot-Name: @a").problem(400, "bad_name", "Foliot-Name")
	batch := decoded[wire.BatchReply](s.do("POST", "/v1/tasks/batch", `{"tasks": [`+named("@a")+`]}`), 200)
	if batch.Results[0].Code != "bad_name" {
		t.Errorf("batch: %+v", batch)
	}
	for _, query := range []string{"", "?label=k=v", "?state=scheduled", "?state=held", "?due_after=2001-01-01T00:00:00Z"} {
		var list api.TaskList
		if s.do("GET", "/v1/tasks"+query, "").want(200, &list); len(list.Tasks) != 0 {
			t.Errorf("%s lists %+v", query, list)
		}
	}
	for _, target := range []string{"GET /v1/tasks?queue=@", "POST /v1/tasks/cancel?queue=@", "GET /v1/queues/@", "PUT /v1/queues/@", "POST /v1/queues/@/pause", "POST /v1/queues/@/purge", "DELETE /v1/queues/@"} {
		method, path, _ := strings.Cut(target, " ")
		s.do(method, path, map[string]string{"PUT": "{}"}[method]).problem(400, "bad_name", "queue")
	}
	for _, path := range []string{"/v1/tasks/cancel?all=true", "/v1/tasks/cancel?label=k=v", "/v1/tasks/retry?all=true"} {
		var done wire.BulkReply
		if s.do("POST", path, "").want(200, &done); done.Changed+done.Accepted+done.Skipped != 0 || done.Durability != "" {
			t.Errorf("%s: %+v", path, done)
		}
	}
	var queues api.QueueList
	if s.do("GET", "/v1/queues", "").want(200, &queues); len(queues.Queues) != 0 {
		t.Errorf("queues: %+v", queues)
	}
	var n wire.Namespace
	if s.do("GET", "/v1/namespaces/default", "").want(200, &n); n.Counts != (wire.Counts{}) {
		t.Errorf("counts: %+v", n.Counts)
	}
	if after := string(s.do("GET", "/v1/schedules/a", "").want(200, nil).body); after != before {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
}

// A namespace may have more schedules than a page examines. Its tasks are
// listed and changed nevertheless, with one read.
func TestTasksAreListedPastAnyNumberOfSchedules(t *testing.T) {
	s := serve(t)
	changes := make([]task.Change, 3*task.MaxPageExamined/2)
	for i := range changes {
		spec := task.ScheduleSpec{Spec: task.DefaultSpec(), Rule: recurrence.Rule{Every: time.Hour, CatchupWindow: time.Hour, CatchupLimit: 1}}
		spec.Name, spec.ID, spec.Request.URL = fmt.Sprintf("s%05d", i), fmt.Sprint(i), "http://example.com/"
		changes[i] = task.PutSchedule{Spec: spec}
	}
	if _, err := s.store.Transit(t.Context(), task.CeilMillis(time.Now()), store.Changes(changes)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"0", "1", "x", "y"} {
		s.do("POST", "/v1/tasks", named(name)).want(201, nil)
	}
	var names []string
	requests := 0
	for more := ""; ; requests++ {
		page := decoded[api.TaskList](s.do("GET", "/v1/tasks?limit=3"+more, ""), 200)
		for _, one := range page.Tasks {
			names = append(names, one.Name)
		}
		if more = "&cursor=" + page.NextCursor; page.NextCursor == "" {
			break
		}
	}
	if got := strings.Join(names, " "); got != "0 1 x y" || requests > 2 {
		t.Errorf("listed %s, in %d pages", got, requests+1)
	}
	var done wire.BulkReply
	if s.do("POST", "/v1/tasks/cancel?all=true", "").want(200, &done); done.Changed != 4 {
		t.Errorf("cancelled: %+v", done)
	}
	// A page that ends there also lists the schedules.
	var page api.ScheduleList
	s.do("GET", "/v1/schedules?limit=2&cursor=MXMxNDk5Nw", "").want(200, &page) // after s14997
	if len(page.Schedules) != 2 || page.Schedules[0].Name != "s14998" || page.NextCursor != "" && len(s.page(page.NextCursor).Schedules) != 0 {
		t.Errorf("the last page: %+v", page)
	}
}

// A reply without a task costs as much as one with tasks.
func TestASearchGoesOnUntilItFindsATask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // no time passes
		s := serve(t)
		changes := make([]task.Change, 5*task.MaxPageExamined/2)
		for i := range changes {
			spec := task.DefaultSpec()
			spec.Name, spec.ID, spec.Request.URL = fmt.Sprintf("t%05d", i), fmt.Sprint(i), "http://example.com/"
			changes[i] = task.Replace{Spec: spec}
		}
		if _, err := s.store.Transit(t.Context(), task.CeilMillis(time.Now()), store.Changes(changes)); err != nil {
			t.Fatal(err)
		}
		page := decoded[api.TaskList](s.do("GET", "/v1/tasks?contains=24999", ""), 200)
		if len(page.Tasks) != 1 || page.NextCursor != "" {
			t.Errorf("%d tasks, and the cursor %q", len(page.Tasks), page.NextCursor)
		}
	})
}

func (s *service) page(cursor string) (list api.ScheduleList) {
	s.Helper()
	s.do("GET", "/v1/schedules?cursor="+cursor, "").want(200, &list)
	return list
}

func TestSchedulesAreListedByNameAndLabel(t *testing.T) {
	s := serve(t)
	for _, name := range []string{"b", "a", "B", "0", "c"} {
		s.do("PUT", "/v1/schedules/"+name, hourly).want(201, nil)
	}
	s.do("PUT", "/v1/schedules/d", nightly).want(201, nil)
	s.do("DELETE", "/v1/schedules/b", "").want(200, nil)
	s.do("POST", "/v1/tasks", named("b")).want(201, nil)
	read := func(query string) (names []string) {
		for more := ""; ; {
			page := decoded[api.ScheduleList](s.do("GET", "/v1/schedules?"+query+more, ""), 200)
			for _, one := range page.Schedules {
				names = append(names, one.Name)
				if body := one.Task.HTTP.Body != nil; body != (strings.Contains(query, "include") && one.Name != "d") {
					t.Errorf("%s shows %+v", query, one)
				}
			}
			if page.NextCursor == "" {
				return names
			}
			more = "&cursor=" + page.NextCursor
		}
	}
	for query, want := range map[string]string{
		"": "0 B a c d", "limit=1": "0 B a c d", "limit=2&include=body": "0 B a c d", "label=k=v": "0 B a c", "label=k=v&limit=1": "0 B a c", "label=k=w": "",
	} {
		if got := strings.Join(read(query), " "); got != want {
			t.Errorf("%s lists %s, want %s", query, got, want)
		}
	}
	for query, want := range map[string]string{"limit=0": "bad_parameter limit", "label=k": "bad_parameter label", "cursor=x": "bad_cursor cursor", "include=all": "bad_parameter include", "queue=q": "unknown_parameter queue"} {
		code, field, _ := strings.Cut(want, " ")
		s.do("GET", "/v1/schedules?"+query, "").problem(400, code, field)
	}
}

func TestATaskHasTheNameOfItsSchedule(t *testing.T) {
	s, set := serveAt(t, elsewhen)
	s.do("PUT", "/v1/schedules/hourly", rule(`"cron": "0 * * * *", "jitter": "10m"`)).want(201, nil)
	made := s.fire("hourly", elsewhen.Add(time.Hour))
	set(elsewhen.Add(time.Hour))
	got := s.do("GET", "/v1/tasks/"+made.Name, "").task(200)
	if got.Schedule != "hourly" || got.Instant != "2040-02-29T13:00:00.000Z" || got.Name != fmt.Sprintf("hourly@%d", elsewhen.Add(time.Hour).UnixMilli()) {
		t.Errorf("%+v", got)
	}
	var list api.TaskList
	if s.do("GET", "/v1/tasks", "").want(200, &list); len(list.Tasks) != 1 || list.Tasks[0].Schedule != "hourly" {
		t.Errorf("%+v", list)
	}
	if got := s.do("POST", "/v1/tasks", hour).task(201); got.Schedule != "" || got.Instant != "" {
		t.Errorf("%+v", got)
	}
	s.do("PATCH", "/v1/tasks/a", `{"schedule": "hourly"}`).problem(400, "unknown_field", "schedule")
}

func TestTheTasksOfAScheduleAreFoundAndCancelledByItsName(t *testing.T) {
	s := serve(t)
	for _, name := range []string{"hour", "hourly"} {
		s.do("PUT", "/v1/schedules/"+name, hourly).want(201, nil)
		s.do("POST", "/v1/schedules/"+name+"/trigger", "").want(201, nil)
	}
	s.do("POST", "/v1/schedules/hourly/trigger", "").want(201, nil)
	var found api.TaskList
	if s.do("GET", "/v1/tasks?schedule=hourly", "").want(200, &found); len(found.Tasks) != 2 || found.Tasks[0].Schedule != "hourly" {
		t.Errorf("found %+v", found.Tasks)
	}
	if s.do("GET", "/v1/tasks?schedule=missing", "").want(200, &found); len(found.Tasks) != 0 {
		t.Errorf("found %+v", found.Tasks)
	}
	s.do("GET", "/v1/tasks?schedule=", "").problem(400, "bad_name", "schedule")
	var reply wire.BulkReply
	if s.do("POST", "/v1/tasks/cancel?schedule=hourly", "").want(200, &reply); reply.Changed != 2 {
		t.Errorf("%+v", reply)
	}
	if s.do("GET", "/v1/tasks?state=scheduled", "").want(200, &found); len(found.Tasks) != 1 || found.Tasks[0].Schedule != "hour" {
		t.Errorf("left are %+v", found.Tasks)
	}
}
