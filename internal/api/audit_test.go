package api_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/settings"
)

func TestTheAuditLogIsReadInPages(t *testing.T) {
	s := serve(t)
	for i := range 7 {
		s.do("PUT", fmt.Sprintf("/v1/queues/q%d", i), `{}`).want(201, nil)
	}
	s.do("POST", "/v1/queues/q3/pause", "").want(200, nil)
	var all []string
	for more := ""; ; {
		page := decoded[api.AuditList](s.do("GET", "/v1/audit?limit=4"+more, ""), 200)
		for _, e := range page.Entries {
			all = append(all, e.Action+" "+e.Target)
		}
		if page.NextCursor == "" {
			break
		}
		more = "&cursor=" + page.NextCursor
	}
	if got, want := strings.Join(all, ", "), "queue.pause q3, queue.put q6, queue.put q5, queue.put q4, queue.put q3, queue.put q2, queue.put q1, queue.put q0"; got != want {
		t.Errorf("the log has %s", got)
	}
	for filter, want := range map[string]int{
		"action=queue.put": 7, "target=q3": 2, "by=anonymous": 8, "by=upkeep": 0, "until=2000-01-01T00:00:00Z": 0, "from=2000-01-01T00:00:00Z": 8,
		"until=1900-01-01T00:00:00Z": 0, "from=" + time.Now().Add(time.Hour).UTC().Format(time.RFC3339): 0,
	} {
		var page api.AuditList
		if s.do("GET", "/v1/audit?"+filter, "").want(200, &page); len(page.Entries) != want {
			t.Errorf("%s: %d entries, want %d", filter, len(page.Entries), want)
		}
	}
	s.do("GET", "/v1/audit?from=yesterday", "").problem(400, "bad_time", "from")
	s.do("GET", "/v1/audit?by=", "").problem(400, "bad_parameter", "by")
	s.do("GET", "/v1/audit?limit=0", "").problem(400, "bad_parameter", "limit")
	s.do("GET", "/v1/audit?cursor=MTE", "").problem(400, "bad_cursor", "cursor")
}

// audited returns the number of audit entries with this action.
func (s *service) audited(action string) int {
	s.Helper()
	page, err := s.store.Audit(s.Context(), settings.AuditFilter{Action: action}, 0, 1000)
	fatal.If(s, err)
	return len(page.Entries)
}

// A program that cancels a task is in the record of the task. A person who does so
// is in the audit log too.
func TestTheAuditLogHasWhatPeopleDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		for _, name := range []string{"a", "b", "c", "d"} {
			s.do("POST", "/v1/tasks", named(name), "Foliot-Client: page").want(201, nil)
		}
		s.do("POST", "/v1/tasks/a/run", "").want(200, nil)
		s.do("POST", "/v1/tasks/a/run", "", "Foliot-Client: cron", "User-Agent: foliot-go").want(200, nil)
		s.do("DELETE", "/v1/tasks/b", "").want(200, nil)
		s.do("DELETE", "/v1/tasks/none", "", "Foliot-Client: page").want(404, nil)
		s.do("PATCH", "/v1/tasks/c", `{"delay": "2h"}`, "Foliot-Client: page", "Content-Type: application/merge-patch+json").want(200, nil)
		s.do("DELETE", "/v1/tasks/c", "", "User-Agent: foliot/dev").want(200, nil)
		s.do("POST", "/v1/tasks/cancel?queue=none", "").want(200, nil)
		s.do("POST", "/v1/tasks/move?prefix=d", `{"by": "1h"}`).want(200, nil)
		s.do("POST", "/v1/tasks/cancel?all=true&state=scheduled", "").want(200, nil)
		log := decoded[api.AuditList](s.do("GET", "/v1/audit", ""), 200)
		var got []string
		for _, e := range slices.Backward(log.Entries) {
			got = append(got, e.Action+" "+e.Target+" "+e.Detail)
		}
		want := []string{
			"task.patch c from the page", "task.cancel c from the command line",
			"tasks.move  by 1h prefix=d: changed 1, accepted 0, skipped 0", "tasks.cancel  all=true&state=scheduled: changed 2, accepted 0, skipped 0",
		}
		if !slices.Equal(got, want) {
			t.Errorf("the log has\n%s", strings.Join(got, "\n"))
		}
	})
}

// A program that claims to be a person must not push out what people did.
func TestAProgramThatClaimsToBeAPersonAddsNoMoreEntriesThanEdits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		s.do("POST", "/v1/tasks", hour).want(201, nil)
		for range 200 {
			s.do("POST", "/v1/tasks/a/run", "", "Foliot-Client: page").want(200, nil)
		}
		if n := s.audited("task.run"); n != 50 {
			t.Errorf("%d entries, want as many as edits at once", n)
		}
	})
}

func TestEachChangeByAClientIsLoggedOnRequest(t *testing.T) {
	var log bytes.Buffer
	s := serve(t, func(c *api.Config) { c.LogChanges, c.Log = true, slog.New(slog.NewTextHandler(&log, nil)) })
	s.do("POST", "/v1/tasks/batch", `{"tasks": [`+named("a")+`, `+named("b")+`, `+named("a")+`]}`).want(200, nil)
	token := s.token("*", settings.ScopeAdmin)
	s.do("DELETE", "/v1/tasks/a", "", token).want(200, nil)
	s.do("DELETE", "/v1/tasks/a", "", token).want(200, nil)
	s.do("DELETE", "/v1/tasks/none", "", token).want(404, nil)
	s.do("PUT", "/v1/schedules/s", hourly, token).want(201, nil)
	var got []string
	for line := range strings.Lines(log.String()) {
		if _, line, ok := strings.Cut(line, `msg="a client made a change" action=`); ok {
			before, after, _ := strings.Cut(line, " id=")
			_, by, _ := strings.Cut(after, " version=")
			got = append(got, before+" version="+strings.TrimSpace(by))
		}
	}
	hash, _ := settings.HashToken(strings.TrimPrefix(token, "Authorization: Bearer "))
	by := " by=token:" + hash[:16] + " remote=192.0.2.1"
	want := []string{
		"task.create namespace=default task=a version=1 by=anonymous remote=192.0.2.1", "task.create namespace=default task=b version=1 by=anonymous remote=192.0.2.1",
		"task.cancel namespace=default task=a version=2" + by, "schedule.put namespace=default schedule=s version=1" + by,
	}
	if !slices.Equal(got, want) {
		t.Errorf("the log has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The entries of all namespaces share one sequence of numbers. A cursor must
// not reveal how many entries other namespaces have, or be valid for another
// namespace.
func TestACursorOfTheAuditLogRevealsNothing(t *testing.T) {
	s := serve(t)
	s.namespace("acme")
	for i := range 3 {
		s.do("PUT", fmt.Sprintf("/v1/queues/q%d", i), `{}`, "Foliot-Namespace: acme").want(201, nil)
	}
	page := decoded[api.AuditList](s.do("GET", "/v1/audit?limit=1", "", "Foliot-Namespace: acme"), 200)
	raw, err := base64.RawURLEncoding.DecodeString(page.NextCursor)
	if err != nil || len(raw) != 16 || bytes.HasPrefix(raw, make([]byte, 6)) {
		t.Errorf("the cursor is % x", raw)
	}
	s.do("GET", "/v1/audit?limit=1&cursor="+page.NextCursor, "", "Foliot-Namespace: acme").want(200, nil)
	s.do("GET", "/v1/audit?limit=1&cursor="+page.NextCursor, "", "Foliot-Namespace: default").problem(400, "bad_cursor", "cursor")
	s.do("GET", "/v1/audit?limit=1&cursor="+page.NextCursor, "").problem(400, "bad_cursor", "cursor")
}
