package api_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

func TestTheAuditLogIsReadInPages(t *testing.T) {
	s := serve(t)
	for i := range 7 {
		s.do("POST", "/v1/tasks", named(fmt.Sprintf("t%d", i))).want(201, nil)
	}
	s.do("DELETE", "/v1/tasks/t3", "").want(200, nil)
	s.do("PUT", "/v1/queues/q", `{}`).want(201, nil)
	var all []string
	for more := ""; ; {
		var page wire.AuditList
		s.do("GET", "/v1/audit?limit=4"+more, "").want(200, &page)
		for _, e := range page.Entries {
			all = append(all, e.Action+" "+e.Target)
		}
		if page.NextCursor == "" {
			break
		}
		more = "&cursor=" + page.NextCursor
	}
	if got, want := strings.Join(all, ", "), "queue.put q, task.cancel t3, task.create t6, task.create t5, task.create t4, task.create t3, task.create t2, task.create t1, task.create t0"; got != want {
		t.Errorf("the log has %s", got)
	}
	for filter, want := range map[string]int{
		"action=task.create": 7, "target=t3": 2, "by=anonymous": 9, "by=upkeep": 0, "until=2000-01-01T00:00:00Z": 0, "from=2000-01-01T00:00:00Z": 9,
		"until=1900-01-01T00:00:00Z": 0, "from=" + time.Now().Add(time.Hour).UTC().Format(time.RFC3339): 0,
	} {
		var page wire.AuditList
		if s.do("GET", "/v1/audit?"+filter, "").want(200, &page); len(page.Entries) != want {
			t.Errorf("%s: %d entries, want %d", filter, len(page.Entries), want)
		}
	}
	s.do("GET", "/v1/audit?from=yesterday", "").problem(400, "bad_time", "from")
	s.do("GET", "/v1/audit?by=", "").problem(400, "bad_parameter", "by")
	s.do("GET", "/v1/audit?limit=0", "").problem(400, "bad_parameter", "limit")
	s.do("GET", "/v1/audit?cursor=MTE", "").problem(400, "bad_cursor", "cursor")
}

// The entries of all namespaces share one sequence of numbers. A cursor must
// not reveal how many entries other namespaces have, or be valid for another
// namespace.
func TestACursorOfTheAuditLogRevealsNothing(t *testing.T) {
	s := serve(t)
	s.namespace("acme")
	for i := range 3 {
		s.do("POST", "/v1/tasks", named(fmt.Sprintf("t%d", i)), "Foliot-Namespace: acme").want(201, nil)
	}
	var page wire.AuditList
	s.do("GET", "/v1/audit?limit=1", "", "Foliot-Namespace: acme").want(200, &page)
	raw, err := base64.RawURLEncoding.DecodeString(page.NextCursor)
	if err != nil || len(raw) != 16 || bytes.HasPrefix(raw, make([]byte, 6)) {
		t.Errorf("the cursor is % x", raw)
	}
	s.do("GET", "/v1/audit?limit=1&cursor="+page.NextCursor, "", "Foliot-Namespace: acme").want(200, nil)
	s.do("GET", "/v1/audit?limit=1&cursor="+page.NextCursor, "", "Foliot-Namespace: default").problem(400, "bad_cursor", "cursor")
	s.do("GET", "/v1/audit?limit=1&cursor="+page.NextCursor, "").problem(400, "bad_cursor", "cursor")
}
