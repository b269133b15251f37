package metrics

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/expfmt"

	dto "github.com/prometheus/client_model/go"

	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

func TestTasksAreThoseOfTheStoreUnderTheLabelsOfTheirQueues(t *testing.T) {
	m := New(Config{Settings: configured(queueNamed("default", "mails"))})
	m.Ask(Sources{Counts: func(context.Context) (map[task.QueueKey]task.Counts, error) {
		some := func(scheduled, dead, bytes int64) (c task.Counts) {
			c.States[task.Scheduled], c.States[task.Dead], c.Bytes = scheduled, dead, bytes
			return c
		}
		return map[task.QueueKey]task.Counts{
			{Namespace: "default", Queue: "mails"}:   some(3, 1, 100),
			{Namespace: "default", Queue: "made-up"}: some(4, 0, 10),
			{Namespace: "default", Queue: "up-made"}: some(5, 2, 1),
		}, nil
	}})
	for _, c := range []struct {
		queue, state string
		want         float64
	}{
		{"mails", "scheduled", 3},
		{"mails", "dead", 1},
		{"mails", "delivered", 0},
		{other, "scheduled", 9},
		{other, "dead", 2},
	} {
		wantValue(t, m, c.want, "foliot_tasks", "namespace", "default", "queue", c.queue, "state", c.state)
	}
	wantValue(t, m, 11, "foliot_task_body_bytes", "queue", other)
}

func TestSchedulesAreCountedByNamespaceAndAreNoTasks(t *testing.T) {
	m := New(Config{Settings: configured(&settings.NamespaceSettings{Name: "shop"})})
	m.Ask(Sources{
		Counts: func(context.Context) (map[task.QueueKey]task.Counts, error) {
			some := func(scheduled, cancelled int64) (c task.Counts) {
				c.States[task.Scheduled], c.States[task.Cancelled] = scheduled, cancelled
				return c
			}
			return map[task.QueueKey]task.Counts{
				{Namespace: "default", Queue: task.ScheduleQueue}: some(3, 1),
				{Namespace: "shop", Queue: task.ScheduleQueue}:    some(4, 0),
				{Namespace: "made", Queue: task.ScheduleQueue}:    some(1, 0),
				{Namespace: "up", Queue: task.ScheduleQueue}:      some(1, 0),
			}, nil
		},
		Dispatch: func() dispatch.Stats {
			s := dispatch.Stats{Fired: 7}
			s.Skipped = map[string]uint64{"missed": 1, "catchup_window": 2, "catchup_limit": 3, "quota": 5, "overlap": 4}
			return s
		},
	})
	for namespace, want := range map[string]float64{"default": 3, "shop": 4, other: 2} {
		wantValue(t, m, want, "foliot_schedules", "namespace", namespace)
	}
	if families := gather(t, m); families["foliot_tasks"] != nil || families["foliot_task_body_bytes"] != nil {
		t.Errorf("schedules are counted as tasks: %v", families["foliot_tasks"])
	}
	for why, want := range map[string]float64{"missed": 1, "catchup_window": 2, "catchup_limit": 3, "quota": 5, "overlap": 4} {
		wantValue(t, m, want, "foliot_schedule_skipped_total", "why", why)
	}
	wantValue(t, m, 7, "foliot_schedule_occurrences_total")
}

func TestAnInstantThatDoesNotFireIsOverdueAndNoQueueIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, due := task.ScheduleLane("default"), task.FloorMillis(time.Now()).Add(-time.Minute)
		m := New(Config{})
		m.Ask(Sources{Index: &index{heads: []task.LaneHead{{Lane: l, Due: due}}, entries: map[task.Lane]task.Entry{l: {Name: "@nightly", Lane: l, Due: due}}}})
		wantValue(t, m, 60, "foliot_schedule_overdue_seconds")
		if list := gather(t, m)["foliot_oldest_overdue_seconds"].GetMetric(); len(list) != 1 || list[0].GetGauge().GetValue() != 0 { // that of the default queue
			t.Errorf("a queue is overdue: %v", list)
		}
	})
}

// lane is a lane of the default namespace; each number is another destination.
func lane(queue string, n int) task.Lane {
	return task.Lane{Namespace: "default", Queue: queue, Destination: string(rune('a'+n)) + ":80"}
}

func TestOverdueIsTheOldestTaskThatIsReallyThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := task.FloorMillis(time.Now())
		ago := func(d time.Duration) task.Millis { return now.Add(-d) }
		paused := queueNamed("default", "paused")
		paused.Paused = true
		m := New(Config{Settings: configured(queueNamed("default", "mails"), queueNamed("default", "quiet"), paused)})
		heads := []task.LaneHead{
			{Lane: lane("mails", 0), Due: ago(time.Hour)}, // the head was delivered; the remaining task is younger
			{Lane: lane("mails", 1), Due: ago(time.Minute)},
			{Lane: lane("paused", 0), Due: ago(time.Hour)},
			{Lane: lane("quiet", 0), Due: ago(time.Second)}, // the lane is empty
		}
		m.Ask(Sources{Index: &index{heads: heads, entries: map[task.Lane]task.Entry{
			lane("mails", 0):  {Lane: lane("mails", 0), Due: ago(3 * time.Second)},
			lane("mails", 1):  {Lane: lane("mails", 1), Due: ago(time.Minute)},
			lane("paused", 0): {Lane: lane("paused", 0), Due: ago(time.Hour)},
			lane("quiet", 0):  {Lane: lane("quiet", 0), Due: now.Add(time.Hour)},
		}}})
		m.Attempt("default", "quiet", task.Outcome{Verdict: task.Success}, left(task.Delivered, ""))
		for queue, want := range map[string]float64{"mails": 60, "quiet": 0, "paused": -1} {
			wantValue(t, m, want, "foliot_oldest_overdue_seconds", "queue", queue)
		}
	})
}

func TestOverdueCountsByTheGivenClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		due := task.FloorMillis(time.Now())
		m := New(Config{Settings: configured(queueNamed("default", "mails"))})
		m.Ask(Sources{
			Now: func() time.Time { return time.Now().Add(time.Minute) },
			Index: &index{
				heads:   []task.LaneHead{{Lane: lane("mails", 0), Due: due}},
				entries: map[task.Lane]task.Entry{lane("mails", 0): {Lane: lane("mails", 0), Due: due}},
			},
		})
		wantValue(t, m, 60, "foliot_oldest_overdue_seconds", "queue", "mails")
	})
}

func TestAScrapeLooksIntoABoundedNumberOfLanes(t *testing.T) {
	var heads []task.LaneHead
	for i := range 5000 {
		heads = append(heads, task.LaneHead{Lane: lane(string(rune('A'+i%100)), i)})
	}
	i := &index{heads: heads}
	m := New(Config{})
	m.Ask(Sources{Index: i})
	gather(t, m)
	if i.reads != overdueLanes {
		t.Errorf("%d lanes were read, want %d", i.reads, overdueLanes)
	}
}

func TestAQueueOfManyLanesHidesNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		due := task.FloorMillis(time.Now()).Add(-time.Minute)
		var heads []task.LaneHead
		for i := range 2 * overdueLanes {
			heads = append(heads, task.LaneHead{Lane: lane("noisy", i), Due: due})
		}
		heads = append(heads, task.LaneHead{Lane: lane("quiet", 0), Due: due})
		m := New(Config{Settings: configured(queueNamed("default", "noisy"), queueNamed("default", "quiet"))})
		m.Ask(Sources{Index: &index{heads: heads, entries: map[task.Lane]task.Entry{lane("quiet", 0): {Lane: lane("quiet", 0), Due: due}}}})
		wantValue(t, m, 60, "foliot_oldest_overdue_seconds", "queue", "quiet")
	})
}

func TestASourceThatFailsHidesNoOther(t *testing.T) {
	var log bytes.Buffer
	m := New(Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	m.Ask(Sources{
		Counts:      func(context.Context) (map[task.QueueKey]task.Counts, error) { return nil, errBroken },
		Index:       &index{err: errBroken},
		Disk:        func() (Disk, error) { return Disk{}, errBroken },
		Connections: func() int { return 5 },
	})
	reply := scrape(m, "")
	if reply.Code != http.StatusOK || !strings.Contains(reply.Body.String(), "foliot_api_connections 5") {
		t.Errorf("%d, without the source that works:\n%s", reply.Code, reply.Body)
	}
	if line := log.String(); strings.Count(line, "\n") != 1 || !strings.Contains(line, `error="it broke"`) || !strings.Contains(line, "foliot_tasks, ") || strings.Contains(line, "Desc{") {
		t.Errorf("the log does not tell in a line: %q", line)
	}
}

func scrape(m *Metrics, accept string) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest("GET", "/metrics", nil), httptest.NewRecorder()
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	m.Handler().ServeHTTP(w, r)
	return w
}

func TestAPrometheusThatAsksForProtobufGetsNativeHistograms(t *testing.T) {
	reply := scrape(full(t), string(expfmt.NewFormat(expfmt.TypeProtoDelim)))
	dec := expfmt.NewDecoder(reply.Body, expfmt.NewFormat(expfmt.TypeProtoDelim))
	for {
		var f dto.MetricFamily
		if err := dec.Decode(&f); err != nil {
			t.Fatalf("no lateness in the reply: %v", err)
		}
		if f.GetName() == "foliot_lateness_seconds" {
			if f.GetMetric()[0].GetHistogram().Schema == nil {
				t.Error("the lateness is no native histogram")
			}
			return
		}
	}
}
