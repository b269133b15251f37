package browser

import (
	"fmt"
	"testing"
	"time"
)

// The API lists the tasks of a schedule forwards, and a page of it has the oldest.
func TestAScheduleShowsItsLatestTasksAfterABackfill(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	s.must("POST", "/v1/queues/paused/pause", object{}, nil)
	put := func(cron string) {
		s.must("PUT", "/v1/schedules/report", object{"cron": cron, "task": object{"queue": "paused", "http": object{"url": "http://127.0.0.1:1/"}}}, nil)
	}
	put("* * * * *")
	const tasks = 900
	until := time.Now().Truncate(time.Minute)
	var reply struct{ Created int }
	s.must("POST", "/v1/schedules/report/backfill", object{"from": until.Add(-tasks * time.Minute), "until": until}, &reply)
	if reply.Created < tasks-1 {
		t.Fatalf("the backfill created %d tasks, want %d", reply.Created, tasks)
	}
	put("@daily") // so ten instants have more tasks than one page
	b := open(t, s, s.token, viewports[0], "#/schedules/report")
	for i := 1; i <= 5; i++ {
		b.await(fmt.Sprintf(`document.querySelector('main').textContent.includes('report@%d')`, until.Add(-time.Duration(i)*time.Minute).UnixMilli()))
	}
	list := open(t, s, s.token, viewports[0], "#/schedules")
	list.await(fmt.Sprintf(`document.querySelector('.last-tasks a[href*="%d"]') !== null`, until.Add(-2*time.Minute).UnixMilli()))
}
