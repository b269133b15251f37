package settings

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// ended is a kept record, as an index of ended tasks has it.
type ended struct {
	queue      string
	dead       bool
	at, keptTo task.Millis
}

// TestSpansBoundTheEndsOfTheirRecords: the retentions of queues change at any
// time. Each record is in a span, and no record in a span has ended after its
// bound.
func TestSpansBoundTheEndsOfTheirRecords(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 17))
	queues := []string{"default", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"}
	retention := func() time.Duration { return time.Duration(1+r.IntN(5)) * time.Minute << (2 * r.IntN(8)) }
	for range 30 {
		s, now := NewSettings(), t0
		var records []ended
		for range 300 {
			now = now.Add(time.Duration(r.IntN(60)) * time.Second << r.IntN(8))
			switch q := queues[r.IntN(len(queues))]; {
			case r.IntN(8) == 0:
				s = edit(t, now, s, PutQueue{Queue: QueueSettings{Namespace: "default", Name: q, KeepFinished: retention() * time.Duration(r.IntN(2)), KeepDead: retention()}})
			case r.IntN(20) == 0 && s.Queue("default", q).Version != 0:
				s = edit(t, now, s, DropQueue{Namespace: "default", Name: q})
			case r.IntN(20) == 0:
				s = edit(t, now, s, PutNamespace{Settings: NamespaceSettings{Name: "default", MaxPending: 1}, If: task.Precondition{}})
			default:
				p := s.Policy(policy, "default", q)
				records = append(records, ended{q, false, now, now.Add(p.KeepFinished)}, ended{q, true, now, now.Add(p.KeepDead)})
			}
			checkSpans(t, s, &task.Filter{Namespace: "default"}, now, records)
			checkSpans(t, s, &task.Filter{Namespace: "default", Queue: queues[r.IntN(len(queues))]}, now, records)
		}
	}
}

func checkSpans(t *testing.T, s *Settings, f *task.Filter, now task.Millis, records []ended) {
	t.Helper()
	for _, dead := range []bool{false, true} {
		spans := s.EndedSpans(policy, f, dead, now)
		if len(spans) == 0 || len(spans) > maxEndedSpans || spans[0].After != now {
			t.Fatalf("%d spans: %+v", len(spans), spans)
		}
		for i, span := range spans[1:] {
			if span.After != spans[i].Upto {
				t.Fatalf("a gap in the spans: %+v", spans)
			}
		}
		for _, e := range records {
			if e.dead == dead && e.keptTo > now && (f.Queue == "" || f.Queue == e.queue) && !bounded(spans, e) {
				t.Fatalf("queue %q at %d: no span for a record of queue %q that ended %v ago, kept for %v: %+v", f.Queue, now, e.queue, now.Sub(e.at), e.keptTo.Sub(e.at), spans)
			}
		}
	}
}

// bounded reports whether the span of a record is right about the end of it and of
// all that are before it in the index.
func bounded(spans []EndedSpan, e ended) bool {
	for _, span := range spans {
		if e.keptTo > span.After && e.keptTo <= span.Upto {
			return e.at <= e.keptTo.Add(-span.Keep)
		}
	}
	return false
}

// TestASpanBeginsAtEachRetention: a walk for a queue with a short retention does
// not read the tasks of the others first.
func TestASpanBeginsAtEachRetention(t *testing.T) {
	s := edit(t, t0, NewSettings(), PutQueue{Queue: QueueSettings{Namespace: "default", Name: "short", KeepFinished: time.Minute}})
	s = edit(t, t0, s, PutQueue{Queue: QueueSettings{Namespace: "default", Name: "long", KeepFinished: 1000 * policy.KeepFinished}})
	at := func(d time.Duration) task.Millis { return t0.Add(d + clockError) }
	for queue, want := range map[string][]EndedSpan{
		"":      {{t0, at(time.Minute), time.Minute}, {at(time.Minute), at(policy.KeepFinished), policy.KeepFinished}, {at(policy.KeepFinished), task.Never, 1000 * policy.KeepFinished}},
		"short": {{t0, at(time.Minute), time.Minute}, {at(time.Minute), at(policy.KeepFinished), policy.KeepFinished}},
		"long":  {{t0, at(policy.KeepFinished), policy.KeepFinished}, {at(policy.KeepFinished), task.Never, 1000 * policy.KeepFinished}},
		"new":   {{t0, at(policy.KeepFinished), policy.KeepFinished}},
	} {
		if got := diff(want, s.EndedSpans(policy, &task.Filter{Namespace: "default", Queue: queue}, false, t0)); got != "" {
			t.Errorf("queue %q: %s", queue, got)
		}
	}
}
