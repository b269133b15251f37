package metrics

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"

	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// configured returns settings with records for these queues and namespaces.
func configured(records ...settings.Setting) func() *settings.Settings {
	s := settings.NewSettings(records...)
	return func() *settings.Settings { return s }
}

func queueNamed(namespace, name string) *settings.QueueSettings {
	return &settings.QueueSettings{Namespace: namespace, Name: name}
}

func left(state task.State, reason string) *task.Task {
	return &task.Task{State: state, Reason: reason}
}

// index is an index with fixed contents: the heads of the lanes, and the tasks
// in them.
type index struct {
	heads   []task.LaneHead
	entries map[task.Lane]task.Entry
	err     error
	reads   int
}

func (i *index) LanePages(_ context.Context, _ task.Millis, reads []store.LanePageRead) ([]store.LanePage, error) {
	if reads[0].Namespace == "" {
		return []store.LanePage{store.NamespacePage([]string{"all"})}, i.err
	}
	return []store.LanePage{{Heads: i.heads, Last: true}}, nil
}

func (i *index) Peek(_ context.Context, reads []store.LaneRead) ([][]task.Entry, error) {
	i.reads += len(reads)
	found := make([][]task.Entry, len(reads))
	for n, r := range reads {
		if e, ok := i.entries[r.Lane]; ok && e.Due <= r.Until {
			found[n] = []task.Entry{e}
		}
	}
	return found, nil
}

// full returns metrics after one event of every kind.
func full(t *testing.T) *Metrics {
	t.Helper()
	m := New(Config{Version: "1.2.3"})
	done, dead := left(task.Delivered, ""), left(task.Dead, "gone")
	m.Attempt("default", "default", task.Outcome{Verdict: task.Success, Late: 3 * time.Millisecond, Latency: 40 * time.Millisecond}, done)
	m.Attempt("default", "default", task.Outcome{Verdict: task.Refusal, Late: time.Second}, dead)
	m.Request("/v1/tasks", "POST", 201, 2*time.Millisecond)
	m.Sync(5*time.Millisecond, 17)
	m.Reaped([]*task.Task{left(task.Scheduled, ""), left(task.Scheduled, "")})
	m.Swept(3)
	m.Scrubbed(store.Scrubbed{Examined: 10, Repairs: make([]store.Repair, 1)})
	m.Ask(Sources{
		Counts: func(context.Context) (map[task.QueueKey]task.Counts, error) {
			c := task.Counts{Bytes: 4096}
			c.States[task.Scheduled] = 12
			return map[task.QueueKey]task.Counts{{Namespace: "default", Queue: "default"}: c, {Namespace: "default", Queue: task.ScheduleQueue}: c}, nil
		},
		Index: &index{},
		Dispatch: func() dispatch.Stats {
			s := dispatch.Stats{Running: 3, Claimed: 7, Fired: 2, Breakers: 1}
			s.Skipped = map[string]uint64{"missed": 1}
			return s
		},
		Slots:       10,
		Disk:        func() (Disk, error) { return Disk{Used: 1 << 20, Free: 1 << 30, Size: 1 << 40}, nil },
		Connections: func() int { return 5 },
		Certificate: func() (time.Time, bool) { return time.Unix(1_900_000_000, 0), true },
		Standing: func() store.Standing {
			return store.Standing{Membership: store.Membership{Shards: 256, Owned: 86, Nodes: 3, Lost: 1}, Postgres: &store.Postgres{OldestSnapshot: 90 * time.Second}}
		},
		Spans: func() (exported, failed, dropped uint64) { return 4, 0, 0 },
	})
	return m
}

func gather(t *testing.T, m *Metrics) map[string]*dto.MetricFamily {
	t.Helper()
	list, err := m.registry.Gather()
	fatal.If(t, err)
	families := map[string]*dto.MetricFamily{}
	for _, f := range list {
		families[f.GetName()] = f
	}
	return families
}

// find returns the only metric of a family with these labels (name, value, …),
// or nil.
func find(t *testing.T, m *Metrics, name string, labels ...string) *dto.Metric {
	t.Helper()
	for _, metric := range gather(t, m)[name].GetMetric() {
		matches := 0
		for _, l := range metric.GetLabel() {
			if i := slices.Index(labels, l.GetName()); i >= 0 && labels[i+1] == l.GetValue() {
				matches++
			}
		}
		if matches == len(labels)/2 {
			return metric
		}
	}
	return nil
}

// value returns the value of a counter or gauge, or -1 if there is no such
// series.
func value(t *testing.T, m *Metrics, name string, labels ...string) float64 {
	t.Helper()
	metric := find(t, m, name, labels...)
	switch {
	case metric == nil:
		return -1
	case metric.Counter != nil:
		return metric.GetCounter().GetValue()
	}
	return metric.GetGauge().GetValue()
}

var errBroken = errors.New("it broke")

func wantValue(t *testing.T, m *Metrics, want float64, name string, labels ...string) {
	t.Helper()
	if got := value(t, m, name, labels...); got != want {
		t.Errorf("%s %q is %v, want %v", name, labels, got, want)
	}
}
