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
			checkSpans(t, s, now, records)
		}
	}
}

func checkSpans(t *testing.T, s *Settings, now task.Millis, records []ended) {
	t.Helper()
	for _, dead := range []bool{false, true} {
		spans := s.EndedSpans(policy, "default", dead, now, now, MaxEndedSpans)
		if len(spans) == 0 || len(spans) > MaxEndedSpans || spans[0].After != now {
			t.Fatalf("%d spans: %+v", len(spans), spans)
		}
		for i, span := range spans[1:] {
			if span.After != spans[i].Upto {
				t.Fatalf("a gap in the spans: %+v", spans)
			}
		}
		for _, e := range records {
			if e.dead == dead && e.keptTo > now && !bounded(spans, e) {
				t.Fatalf("at %d: no span for a record of queue %q that ended %v ago, kept for %v: %+v", now, e.queue, now.Sub(e.at), e.keptTo.Sub(e.at), spans)
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

func TestASpanBeginsAtEachRetention(t *testing.T) {
	s := edit(t, t0, NewSettings(), PutQueue{Queue: QueueSettings{Namespace: "default", Name: "short", KeepFinished: time.Minute}})
	s = edit(t, t0, s, PutNamespace{Settings: NamespaceSettings{Name: "other"}, If: task.Precondition{}})
	s = edit(t, t0, s, PutQueue{Queue: QueueSettings{Namespace: "other", Name: "long", KeepFinished: 1000 * policy.KeepFinished}})
	at := func(d time.Duration) task.Millis { return t0.Add(d + clockError) }
	for _, c := range []struct {
		namespace string
		most      int
		want      []EndedSpan
	}{
		{"default", MaxEndedSpans, []EndedSpan{{t0, at(time.Minute), time.Minute}, {at(time.Minute), at(policy.KeepFinished + clockStep), policy.KeepFinished}}},
		{"default", 1, []EndedSpan{{t0, at(policy.KeepFinished + clockStep), time.Minute}}},
		{"other", MaxEndedSpans, []EndedSpan{{t0, at(policy.KeepFinished), policy.KeepFinished}, {at(policy.KeepFinished), task.Never, 1000 * policy.KeepFinished}}},
	} {
		if got := diff(c.want, s.EndedSpans(policy, c.namespace, false, t0, t0, c.most)); got != "" {
			t.Errorf("%s, at most %d: %s", c.namespace, c.most, got)
		}
	}
}
