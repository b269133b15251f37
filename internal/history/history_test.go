package history_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/history"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
)

const (
	begin  task.Millis = 1_800_000_000_000 // the beginning of an hour
	minute             = task.Millis(history.Minute / time.Millisecond)
	hour               = task.Millis(history.Hour / time.Millisecond)
)

func record(namespace, queue string, s task.State) *task.Task {
	return &task.Task{ID: "id", Namespace: namespace, Queue: queue, State: s}
}

// event is an event that a process counts, by a naive description.
type event struct {
	at     task.Millis
	queue  task.QueueKey
	number int
	late   time.Duration // of an attempt
}

func (e *event) count(r *history.Recorder) {
	clock := func() task.Millis { return e.at }
	t := record(e.queue.Namespace, e.queue.Queue, task.Delivered)
	switch e.number {
	case history.Created:
		r.Wrote(clock, nil, record(e.queue.Namespace, e.queue.Queue, task.Scheduled))
	case history.Cancelled:
		r.Wrote(clock, record(e.queue.Namespace, e.queue.Queue, task.Scheduled), record(e.queue.Namespace, e.queue.Queue, task.Cancelled))
	case history.Delivered:
		r.Attempt(e.at, t, &task.Outcome{Verdict: task.Success, Late: e.late}, t)
	case history.LostLeases:
		r.Attempt(e.at, t, &task.Outcome{Verdict: task.Success, Late: e.late}, nil)
	case history.Failed:
		r.Attempt(e.at, t, &task.Outcome{Verdict: task.Failure, Late: e.late}, record("", "", task.Scheduled))
	}
}

// total is compared with the naive model: the events of a step by number, and how many
// attempts were later than 100 ms.
type total struct{ By, Over [history.Cancelled + 1]int }

// Three processes count, flush and are killed at random. The history has each event that
// was counted before the last flush of its process, once, by the minute and by the hour.
func TestTheHistoryHasEachEventOnceAndLosesOnlyThoseAfterTheLastFlush(t *testing.T) {
	g, ctx, s := rand.New(rand.NewPCG(1, 2)), t.Context(), memstore.New(memstore.Config{})
	var kept []event
	pending := make([][]event, 3)
	processes := make([]*history.Recorder, 3)
	for i := range processes {
		processes[i] = history.New(fmt.Sprint("p", i))
	}
	now := begin
	for n := range 10_000 {
		now += task.Millis(g.IntN(2000))
		i := g.IntN(len(processes))
		e := event{
			now,
			task.QueueKey{Namespace: []string{"a", "b"}[g.IntN(2)], Queue: fmt.Sprint("q", g.IntN(3))},
			[]int{history.Created, history.Cancelled, history.Delivered, history.LostLeases, history.Failed}[g.IntN(5)], time.Duration(g.IntN(200)) * time.Millisecond,
		}
		e.count(processes[i])
		pending[i] = append(pending[i], e)
		switch k := g.IntN(100); {
		case k < 3 || n > 9_900:
			fatal.If(t, processes[i].Flush(ctx, s, now))
			kept, pending[i] = append(kept, pending[i]...), nil
		case k == 3:
			processes[i], pending[i] = history.New(fmt.Sprint("p", n)), nil
		}
	}
	for _, r := range processes {
		fatal.If(t, r.Flush(ctx, s, now))
	}
	for _, events := range pending {
		kept = append(kept, events...)
	}
	for _, q := range []history.Query{
		{From: begin, Until: now + minute, Step: time.Minute},
		{From: begin, Until: now + hour, Step: time.Hour},
		{From: begin + hour, Until: now + hour, Step: time.Hour, Namespace: "a"},
		{From: now - now%(10*minute), Until: now + minute, Step: 10 * time.Minute, Namespace: "b", Queue: "q1"},
	} {
		want, got := map[task.Millis]total{}, map[task.Millis]total{}
		step := task.Millis(q.Step / time.Millisecond)
		for _, e := range kept {
			if e.at < q.From || q.Namespace != "" && q.Namespace != e.queue.Namespace || q.Queue != "" && q.Queue != e.queue.Queue {
				continue
			}
			w := want[e.at-e.at%step]
			if w.By[e.number]++; e.late > 100*time.Millisecond && e.number != history.Created && e.number != history.Cancelled {
				w.Over[0]++
			}
			want[e.at-e.at%step] = w
		}
		sum, err := history.Read(ctx, s, q)
		fatal.If(t, err)
		for _, step := range sum.Steps {
			w := total{}
			for i := range w.By {
				w.By[i] = int(step.Figures[i])
			}
			w.Over[0] = int(step.Over(100))
			got[step.At] = w
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", q, diff)
		}
	}
}

// sized is a store that knows the bytes of its history.
type sized struct {
	*memstore.Store
	bytes map[bool]map[string]int
}

func (s *sized) Remember(ctx context.Context, now task.Millis, parts []history.Part) error {
	for _, p := range parts {
		key := fmt.Sprint(p.At, "/", p.Writer)
		s.bytes[p.Hour][key] = len(key) + len(p.Data)
	}
	return s.Store.Remember(ctx, now, parts)
}

func TestThousandQueuesAndADayTakeLittleRoom(t *testing.T) {
	s, r, g := &sized{memstore.New(memstore.Config{}), map[bool]map[string]int{false: {}, true: {}}}, history.New("process"), rand.New(rand.NewPCG(1, 2))
	const hours = 2
	for now := begin; now < begin+hours*hour; now += minute {
		for i := range 1000 {
			k := task.QueueKey{Namespace: fmt.Sprint("n", i%10), Queue: fmt.Sprint("queue-of-customer-", i)}
			for range 1 + g.IntN(1+1000/(1+i)) {
				(&event{now, k, history.Created, 0}).count(r)
				(&event{now, k, history.Delivered, time.Duration(g.ExpFloat64() * float64(3*time.Millisecond))}).count(r)
			}
		}
		fatal.If(t, r.Flush(t.Context(), s, now))
	}
	fatal.If(t, r.Flush(t.Context(), s, begin+hours*hour))
	mean := func(hours bool) (n int) {
		for _, size := range s.bytes[hours] {
			n += size
		}
		return n / len(s.bytes[hours])
	}
	day, quarter := mean(false)*24*60, mean(true)*24*90
	t.Logf("%d bytes a minute, %d an hour: %.1f MB for a day of minutes and %.1f MB for 90 days of hours", mean(false), mean(true), float64(day)/1e6, float64(quarter)/1e6)
	if day+quarter > 4<<20 {
		t.Errorf("%d bytes, want at most 4 MB", day+quarter)
	}
	sum, err := history.Read(t.Context(), s, history.Query{From: begin, Until: begin + hours*hour, Step: time.Hour})
	fatal.If(t, err)
	if n := len(sum.Queues); n < 64 || n > 64+10+5 {
		t.Errorf("%d queues", n)
	}
}

func TestAClockThatIsSetBackCountsBothTimes(t *testing.T) {
	s, r := memstore.New(memstore.Config{}), history.New("process")
	for _, at := range []task.Millis{begin + 5*minute, begin + 5*minute - 1, begin + minute, begin + 5*minute, begin + minute} {
		(&event{at, task.QueueKey{Namespace: "a", Queue: "q"}, history.Delivered, 0}).count(r)
		fatal.If(t, r.Flush(t.Context(), s, at))
	}
	sum, err := history.Read(t.Context(), s, history.Query{From: begin, Until: begin + hour, Step: time.Minute})
	fatal.If(t, err)
	got := map[task.Millis]uint64{}
	for _, step := range sum.Steps {
		got[step.At] = step.Attempts()
	}
	if diff := cmp.Diff(map[task.Millis]uint64{begin + minute: 2, begin + 4*minute: 1, begin + 5*minute: 2}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// failing is a store that fails once.
type failing struct {
	*memstore.Store
	left int
}

func (s *failing) Remember(ctx context.Context, now task.Millis, parts []history.Part) error {
	if s.left--; s.left >= 0 {
		return task.ErrUnavailable
	}
	return s.Store.Remember(ctx, now, parts)
}

func TestMinutesThatCouldNotBeWrittenFollow(t *testing.T) {
	s, r := &failing{memstore.New(memstore.Config{}), 2}, history.New("process")
	for i := range task.Millis(3) {
		(&event{begin + i*minute, task.QueueKey{Namespace: "a", Queue: "q"}, history.Delivered, 0}).count(r)
		_ = r.Flush(t.Context(), s, begin+i*minute)
	}
	sum, err := history.Read(t.Context(), s, history.Query{From: begin, Until: begin + hour, Step: time.Hour})
	fatal.If(t, err)
	if len(sum.Steps) != 1 || sum.Steps[0].Attempts() != 3 {
		t.Errorf("%+v", sum.Steps)
	}
}

// A start sums the hours before a long downtime. Later it does not replace the sum of an
// hour, because some minutes of that may have expired.
func TestHoursBeforeADowntimeAreSummedOnce(t *testing.T) {
	s, r := memstore.New(memstore.Config{}), history.New("before")
	count := func(at task.Millis) {
		(&event{at, task.QueueKey{Namespace: "a", Queue: "q"}, history.Delivered, 0}).count(r)
	}
	flush := func(at task.Millis) { fatal.If(t, r.Flush(t.Context(), s, at)) }
	for i := range task.Millis(3) {
		count(begin + i*50*minute) // two hours
	}
	flush(begin + minute)
	for _, days := range []task.Millis{3, 4} {
		r = history.New(fmt.Sprint("after ", days))
		flush(begin + days*24*hour)
		sum, err := history.Read(t.Context(), s, history.Query{From: begin, Until: begin + 5*24*hour, Step: time.Hour})
		fatal.If(t, err)
		if len(sum.Steps) != 2 || sum.Steps[0].Attempts() != 2 || sum.Steps[1].Attempts() != 1 {
			t.Errorf("after %d days %+v", days, sum.Steps)
		}
		fatal.If(t, s.Remember(t.Context(), begin, []history.Part{{At: begin + minute, Writer: "late"}})) // without figures
	}
}

// BenchmarkDay reads a day of three processes by the minute, each with 64 queues.
func BenchmarkDay(b *testing.B) {
	s := memstore.New(memstore.Config{})
	for p := range 3 {
		r := history.New(fmt.Sprint(p))
		for at := begin; at < begin+24*hour; at += minute {
			for q := range 64 {
				(&event{at, task.QueueKey{Namespace: "a", Queue: fmt.Sprint("q", q)}, history.Delivered, 0}).count(r)
			}
			fatal.If(b, r.Flush(b.Context(), s, at))
		}
	}
	for b.Loop() {
		sum, err := history.Read(b.Context(), s, history.Query{From: begin, Until: begin + 24*hour, Step: 10 * time.Minute})
		if err != nil || len(sum.Steps) != 144 {
			b.Fatal(len(sum.Steps), err)
		}
	}
}

func BenchmarkAttempt(b *testing.B) {
	r, t := history.New("process"), record("a", "q", task.Delivered)
	o := task.Outcome{Verdict: task.Success, Late: 3 * time.Millisecond}
	b.ReportAllocs()
	for b.Loop() {
		r.Attempt(begin, t, &o, t)
	}
}
