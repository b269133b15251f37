package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// ended returns the names of a list in the order of ends.
func (s *service) ended(query string) (string, wire.TaskList) {
	s.Helper()
	var list wire.TaskList
	s.do("GET", "/v1/tasks?order=ended"+query, "").want(200, &list)
	var names []string
	for _, t := range list.Tasks {
		names = append(names, t.Name)
	}
	return strings.Join(names, " "), list
}

func TestEndedTasksAreListedByTheirEnds(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	s := serve(t, func(c *api.Config) { c.Now = func() time.Time { return now } })
	s.do("POST", "/v1/tasks", named("live")).want(201, nil)
	for _, name := range []string{"m", "z", "a", "k"} {
		now = now.Add(time.Second)
		s.do("POST", "/v1/tasks", named(name)).want(201, nil)
		s.do("DELETE", "/v1/tasks/"+name, "").want(200, nil)
	}
	for query, want := range map[string]string{
		"": "k a z m", "&state=cancelled&state=dead": "k a z m", "&state=dead": "", "&limit=2": "k a", "&prefix=z": "z", "&queue=none": "", "&reason=cancelled&limit=4": "k a z m",
	} {
		got, list := s.ended(query)
		if got != want || list.NextCursor != "" || list.CompleteSince != "" || list.More != (query == "&limit=2") {
			t.Errorf("%s: %s, %+v", query, got, list)
		}
	}
	now = now.Add(task.DefaultKeepFinished - 2500*time.Millisecond)
	if got, _ := s.ended(""); got != "k a z" {
		t.Errorf("after the retention of m: %s", got)
	}
}

func TestAListOfEndedTasksRefusesWhatItCannotDo(t *testing.T) {
	s := serve(t)
	for query, parameter := range map[string]string{
		"order=ended&state=scheduled": "state", "order=ended&state=dead&state=running": "state", "order=ended&state=held": "state",
		"order=ended&include=body": "include", "order=ended&cursor=MWE": "cursor", "order=name": "order", "order=": "order",
	} {
		s.do("GET", "/v1/tasks?"+query, "").problem(400, "bad_parameter", parameter)
	}
	s.do("POST", "/v1/tasks/cancel?order=ended", "").problem(400, "unknown_parameter", "order")
}

// exhausted is a store in which each search meets too many tasks of other
// namespaces.
type exhausted struct{ *memstore.Store }

func (exhausted) ListEnded(_ context.Context, now task.Millis, _ task.Filter, _ int) (task.Ended, error) {
	return task.Ended{More: true, Since: now}, nil
}

func TestASmallNamespaceListsItsEndedTasksBesideALargeOne(t *testing.T) {
	st := memstore.New(memstore.Config{})
	s := &service{T: t, Server: api.New(api.Config{}, exhausted{st}), store: st}
	for _, name := range []string{"b", "a", "c"} {
		s.do("POST", "/v1/tasks", named(name)).want(201, nil)
		s.do("DELETE", "/v1/tasks/"+name, "").want(200, nil)
	}
	if got, list := s.ended(""); len(strings.Fields(got)) != 3 || list.More || list.CompleteSince != "" {
		t.Errorf("%s, %+v", got, list)
	}
	if got, list := s.ended("&limit=2"); len(strings.Fields(got)) != 2 || !list.More || list.CompleteSince != "" {
		t.Errorf("%s, %+v", got, list)
	}
	changes := make([]task.Change, task.MaxPageExamined)
	for i := range changes {
		spec := task.DefaultSpec()
		spec.Name, spec.ID, spec.Request.URL = fmt.Sprint("t", i), fmt.Sprint(i), "http://example.com/"
		changes[i] = task.Create{Spec: spec}
	}
	if _, err := st.Transit(t.Context(), task.CeilMillis(time.Now()), store.Changes(changes)); err != nil {
		t.Fatal(err)
	}
	if got, list := s.ended(""); got != "" || !list.More || list.CompleteSince == "" {
		t.Errorf("a large namespace: %s, %+v", got, list)
	}
}
