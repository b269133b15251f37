package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

var upcomingNow = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func serveUpcoming(t *testing.T) *service {
	return serve(t, func(c *api.Config) { c.Now = func() time.Time { return upcomingNow } })
}

func (s *service) upcoming(query string, headers ...string) (list wire.Upcoming) {
	s.Helper()
	s.do("GET", "/v1/upcoming"+query, "", headers...).want(200, &list)
	return list
}

// dues returns the items of a list as "seconds name", with words for the rest.
func dues(list wire.Upcoming) string {
	var all []string
	for _, i := range list.Items {
		due, _ := time.Parse(time.RFC3339Nano, i.Due)
		text := fmt.Sprintf("%v %s", due.Sub(upcomingNow).Seconds(), i.Name)
		if i.Instant {
			text = fmt.Sprintf("%v @%s", due.Sub(upcomingNow).Seconds(), i.Schedule)
		}
		if i.Attempt > 0 {
			text += fmt.Sprint(" attempt ", i.Attempt)
		}
		if i.Held != "" {
			text += " " + i.Held
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func TestUpcomingMergesTasksAndInstants(t *testing.T) {
	s := serveUpcoming(t)
	create := func(name, delay, queue string) {
		s.do("POST", "/v1/tasks", `{"name": "`+name+`", "delay": "`+delay+`", "queue": "`+queue+`", "http": {"url": "http://example.com/`+name+`"}}`).want(201, nil)
	}
	create("late", "2h", "mail")
	create("c", "30s", "mail")
	create("a", "10s", "mail")
	create("b", "25s", "other")
	s.do("PUT", "/v1/schedules/s", `{"every": "20s", "start": "2030-01-02T03:04:05Z", "max_runs": 3, "task": {"queue": "mail", "http": {"url": "http://example.com/s"}}}`).want(201, nil)
	s.do("PUT", "/v1/schedules/p", `{"every": "40m", "paused": true, "task": {"http": {"url": "http://example.com/p"}}}`).want(201, nil)
	for query, want := range map[string]string{
		"":                        "10 a, 20 @s, 25 b, 30 c, 40 @s, 60 @s, 2400 @p pause",
		"?until=20s":              "10 a, 20 @s",
		"?until=0s":               "",
		"?queue=mail&until=2h":    "10 a, 20 @s, 30 c, 40 @s, 60 @s, 7200 late",
		"?queue=other":            "25 b",
		"?queue=default&until=2h": "2400 @p pause, 4800 @p pause, 7200 @p pause",
	} {
		if list := s.upcoming(query); dues(list) != want || list.More {
			t.Errorf("%s: %s, more %v, want %s", query, dues(list), list.More, want)
		}
	}
	list := s.upcoming("?limit=2")
	if dues(list) != "10 a, 20 @s" || !list.More || list.Until != "2030-01-02T03:04:25.000Z" || list.Time != "2030-01-02T03:04:05.000Z" {
		t.Errorf("limit 2: %+v", list)
	}
	if got := s.upcoming(""); got.Until != "2030-01-02T04:04:05.000Z" {
		t.Errorf("until %s", got.Until)
	}
	if i := list.Items[1]; i.Name != fmt.Sprintf("s@%d", upcomingNow.Add(20*time.Second).UnixMilli()) || i.Queue != "mail" || i.URL != "http://example.com/s" || i.Namespace != "default" {
		t.Errorf("an instant: %+v", i)
	}
	s.do("POST", "/v1/queues/mail/pause", `{"until": "2030-01-02T03:04:30Z"}`).want(201, nil)
	if got := dues(s.upcoming("?until=30s")); got != "10 a pause, 20 @s pause, 25 b, 30 c" {
		t.Errorf("a pause of 25 s: %s", got)
	}
	held := func(schedule string) string {
		return decoded[wire.Schedule](s.do("GET", "/v1/schedules/"+schedule, ""), 200).Held
	}
	if held("s") != "pause" || held("p") != "" {
		t.Errorf("with the pause, s is held by %q, and p, which is paused, by %q", held("s"), held("p"))
	}
	s.do("POST", "/v1/queues/mail/pause", `{"until": "2030-01-02T03:04:25Z"}`).want(200, nil)
	if held("s") != "" {
		t.Errorf("a pause that ends at the next instant holds it by %q", held("s"))
	}
	s.do("PUT", "/v1/namespaces/default", `{"suspended": true}`).want(201, nil)
	if held("s") != "suspended" {
		t.Errorf("suspended, s is held by %q", held("s"))
	}
	if got := dues(s.upcoming("?until=25s")); got != "10 a suspended, 20 @s suspended, 25 b suspended" {
		t.Errorf("suspended: %s", got)
	}
}

func TestUpcomingShowsOverdueAndRetriedTasksFirst(t *testing.T) {
	s := serveUpcoming(t)
	s.do("POST", "/v1/tasks", named("b")).want(201, nil)
	claimed := s.record("b")
	lane := claimed.Lane()
	now := claimed.Due
	replies, err := s.store.Transit(t.Context(), now, store.Claims([]task.Claim{{Key: claimed.Key(), Lane: lane, Token: "token", Until: now + 1000}}))
	if err != nil || replies[0].Err != nil {
		t.Fatal(err, replies)
	}
	if got := dues(s.upcoming("?until=48h")); got != "" {
		t.Errorf("a task that runs is upcoming: %s", got)
	}
	if _, err := s.store.Transit(t.Context(), now, store.Settlements([]task.Settlement{{Key: claimed.Key(), Token: "token", Outcome: task.Outcome{Verdict: task.Failure}}})); err != nil {
		t.Fatal(err)
	}
	s.do("PUT", "/v1/schedules/s", `{"every": "1h", "start": "2030-01-02T03:00:00Z", "task": {"http": {"url": "http://example.com/s"}}}`).want(201, nil)
	spec := task.DefaultSpec()
	spec.Name, spec.ID, spec.Request.URL, spec.When = "overdue", "x", "http://example.com/", task.When{At: task.CeilMillis(upcomingNow.Add(-time.Minute))}
	if _, err := s.store.Transit(t.Context(), task.CeilMillis(upcomingNow), store.Changes([]task.Change{task.Create{Spec: spec}})); err != nil {
		t.Fatal(err)
	}
	if got := dues(s.upcoming("?until=2h")); !strings.HasPrefix(got, "-60 overdue, 3355 @s, 36") || !strings.Contains(got, " b attempt 2") {
		t.Errorf("%s", got)
	}
}

// A backlog of overdue tasks leaves room for what comes next.
func TestUpcomingFromATimeLeavesOutWhatIsDueBefore(t *testing.T) {
	s := serveUpcoming(t)
	now := task.CeilMillis(upcomingNow)
	create := func(name string, after time.Duration) {
		spec := task.DefaultSpec()
		spec.Name, spec.ID, spec.Request.URL, spec.When = name, name, "http://example.com/", task.When{At: task.CeilMillis(upcomingNow.Add(after))}
		if replies, err := s.store.Transit(t.Context(), now, store.Changes([]task.Change{task.Create{Spec: spec}})); err != nil || replies[0].Err != nil {
			t.Fatal(err, replies)
		}
	}
	for i := range 5 {
		create(fmt.Sprint("overdue", i), time.Duration(i-60)*time.Second)
	}
	create("now", 0)
	create("next", 15*time.Second)
	s.do("PUT", "/v1/schedules/s", `{"every": "20s", "start": "2030-01-02T03:04:05Z", "max_runs": 3, "task": {"http": {"url": "http://example.com/s"}}}`).want(201, nil)
	s.do("PUT", "/v1/schedules/p", `{"every": "25m", "paused": true, "task": {"http": {"url": "http://example.com/p"}}}`).want(201, nil)
	for query, want := range map[string]string{
		"?limit=2":                       "-60 overdue0, -59 overdue1",
		"?from=0s":                       "0 now, 15 next, 20 @s, 40 @s, 60 @s, 1500 @p pause, 3000 @p pause",
		"?from=0s&limit=3":               "0 now, 15 next, 20 @s",
		"?from=2030-01-02T03:04:05.001Z": "15 next, 20 @s, 40 @s, 60 @s, 1500 @p pause, 3000 @p pause",
		"?from=-57s&limit=3":             "-57 overdue3, -56 overdue4, 0 now",
		"?from=20s&until=60s":            "20 @s, 40 @s, 60 @s",
		"?from=21s&until=60s":            "40 @s, 60 @s",
		"?from=50s":                      "60 @s, 1500 @p pause, 3000 @p pause",
		"?from=61s&until=2000s":          "1500 @p pause",
		"?from=2000s":                    "3000 @p pause, 4500 @p pause", // an hour
		"?from=2000s&until=1h":           "3000 @p pause",
	} {
		if got := dues(s.upcoming(query)); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	if list := s.upcoming("?from=0s&limit=3"); !list.More || list.Until != "2030-01-02T03:04:25.000Z" {
		t.Errorf("limit 3: more %v, until %s", list.More, list.Until)
	}
}

// A schedule that has missed instants fires one of them, so the others do not
// count for max_runs.
func TestUpcomingCountsOneRunOfTheMissedInstants(t *testing.T) {
	now := upcomingNow
	s := serve(t, func(c *api.Config) { c.Now = func() time.Time { return now } })
	s.do("PUT", "/v1/schedules/s", `{"every": "1m", "start": "2030-01-02T03:04:05Z", "max_runs": 4, "task": {"http": {"url": "http://example.com/s"}}}`).want(201, nil)
	now = now.Add(10*time.Minute + 30*time.Second)
	for query, want := range map[string]string{
		"":           "60 @s, 660 @s, 720 @s, 780 @s",
		"?from=0s":   "660 @s, 720 @s, 780 @s",
		"?from=100s": "780 @s",
		"?from=151s": "",
	} {
		if got := dues(s.upcoming(query)); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

func TestATokenSeesTheUpcomingItemsOfItsNamespace(t *testing.T) {
	s := serveUpcoming(t)
	s.namespace("acme")
	for _, headers := range [][]string{{"Foliot-Namespace: acme"}, nil} {
		name := "d"
		if headers != nil {
			name = "x"
		}
		s.do("POST", "/v1/tasks", `{"name": "`+name+`", "delay": "1m", "http": {"url": "http://example.com/"}}`, headers...).want(201, nil)
		s.do("PUT", "/v1/schedules/"+name, `{"every": "2m", "task": {"http": {"url": "http://example.com/"}}}`, headers...).want(201, nil)
		s.do("PUT", "/v1/schedules/p"+name, `{"every": "3m", "paused": true, "task": {"http": {"url": "http://example.com/"}}}`, headers...).want(201, nil)
	}
	own, operator := s.token("acme", settings.ScopeRead), s.token("*", settings.ScopeRead)
	const mine = "60 x, 120 @x, 180 @px pause"
	for _, headers := range [][]string{{own}, {operator, "Foliot-Namespace: acme"}} {
		if got := dues(s.upcoming("?until=3m", headers...)); got != mine {
			t.Errorf("%s", got)
		}
	}
	if got := s.upcoming("?until=3m", operator); len(got.Items) != 6 {
		t.Errorf("an operator sees %s", dues(got))
	}
	s.do("GET", "/v1/upcoming?until=soon", "", own).problem(400, "bad_time", "until")
	s.do("GET", "/v1/upcoming?until=-61s", "", own).problem(400, "out_of_range", "until")
	s.do("GET", "/v1/upcoming?from=soon", "", own).problem(400, "bad_time", "from")
	s.do("GET", "/v1/upcoming?from=61m&until=1h", "", own).problem(400, "out_of_range", "from")
	s.do("GET", "/v1/upcoming?by=hour&until=800h", "", own).problem(400, "out_of_range", "until")
	s.do("GET", "/v1/upcoming?from=2s&until=1s", "", own).problem(400, "out_of_range", "from")
	s.do("GET", "/v1/upcoming?queue=@", "", own).problem(400, "bad_name", "queue")
	s.do("GET", "/v1/upcoming?limit=1001", "", own).problem(400, "bad_parameter", "limit")
}

func TestUpcomingByTheHourCountsTasksByQueueAndInstantsBySchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		s.namespace("acme")
		operator, own := s.token("*", settings.ScopeAdmin), s.token("acme", settings.ScopeRead)
		time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(90 * time.Minute))) // half past
		for i := range 5 {
			s.do("PUT", fmt.Sprint("/v1/tasks/t", i), fmt.Sprintf(`{"delay": "%dm", "queue": "%s", "http": {"url": "http://example.com/"}}`, 20*i, []string{"mail", "bills"}[i%2]), operator).want(201, nil)
		}
		s.do("PUT", "/v1/schedules/s", `{"every": "1m", "task": {"http": {"url": "http://example.com/s"}}}`, operator).want(201, nil)
		s.do("PUT", "/v1/schedules/other", `{"every": "1m", "task": {"http": {"url": "http://example.com/s"}}}`, operator, "Foliot-Namespace: acme").want(201, nil)
		counts := func(query string, headers ...string) (all []string) {
			list := s.upcoming(query, headers...)
			for _, h := range list.Hours {
				all = append(all, fmt.Sprint(h.Hour[11:13], " ", h.Count, " ", h.Queue, " ", h.Schedule))
			}
			return all
		}
		hour := time.Now().UTC().Truncate(time.Hour)
		at := func(i int) string { return hour.Add(time.Duration(i) * time.Hour).Format("15") }
		want := []string{at(0) + " 29 default s", at(0) + " 1 bills ", at(0) + " 1 mail ", at(1) + " 60 default s", at(1) + " 2 mail ", at(1) + " 1 bills ", at(2) + " 31 default s"}
		if diff := cmp.Diff(want, counts("?by=hour&until=2h", operator, "Foliot-Namespace: default")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{at(1) + " 2 mail "}, counts("?by=hour&from=30m&until=85m&queue=mail", operator)); diff != "" {
			t.Errorf("of a queue (-want +got):\n%s", diff)
		}
		s.do("PUT", "/v1/schedules/fast", `{"every": "1s", "max_runs": 9000, "end": "2100-01-01T00:00:00Z", "task": {"queue": "fast", "http": {"url": "http://example.com/s"}}}`, operator).want(201, nil)
		if got := counts("?by=hour&from=30m&until=12h&queue=fast", operator); len(got) != 3 || !strings.HasSuffix(got[0], " 3600 fast fast") || !strings.HasSuffix(got[1], " 3600 fast fast") {
			t.Errorf("of an interval of 10 ms %v", got)
		}
		if got := counts("?by=hour&until=2h", own); len(got) != 3 || !strings.HasSuffix(got[0], "other") {
			t.Errorf("a token of a namespace sees %v", got)
		}
		time.Sleep(25 * time.Minute)
		for query, want := range map[string][]string{
			"": {at(0) + " 1 bills ", at(0) + " 1 mail "}, "&from=-10m": {at(0) + " 1 bills "}, "&from=0s": nil,
		} {
			overdue := slices.DeleteFunc(counts("?by=hour&until=-1s"+query, operator), func(s string) bool { return strings.Contains(s, "default") || strings.Contains(s, "fast") })
			if diff := cmp.Diff(want, overdue, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("overdue%s (-want +got):\n%s", query, diff)
			}
		}
	})
}
