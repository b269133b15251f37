package measure

import (
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/bench/peer"
	"github.com/foliot/foliot/bench/record"
)

// small returns a job that takes very little time. Its figures mean nothing.
// The tests check that the figures exist and that the work was done.
func small(workload, implementation string) record.Job {
	j := record.Job{Part: workload, Contender: implementation, N: 300, Callers: 1, Over: 5 * time.Millisecond}
	if workload == AddRemove {
		j.Callers = 3
	}
	return j
}

func TestEveryImplementationDoesEveryWorkload(t *testing.T) {
	values := map[string]string{
		AddRemove: record.WallNanos, Heartbeat: record.CPUNanos, Replace: record.WallNanos,
		Standing: record.Bytes, Million: record.FireMs, Accuracy: record.P99Ms,
	}
	for workload, value := range values {
		for _, p := range peer.All {
			if p.Name == peer.None && (workload == Million || workload == Accuracy || workload == Standing) {
				continue // it has no timers
			}
			t.Run(workload+"/"+p.Name, func(t *testing.T) {
				if workload != Standing { // it measures the heap, which parallel tests would use too
					t.Parallel()
				}
				var got record.Values
				if err := new(Meter).Measure(small(workload, p.Name), &got); err != nil {
					t.Fatal(err)
				}
				if _, ok := got[value]; !ok {
					t.Errorf("got %v, without %q", got, value)
				}
				if got[record.Lost] != 0 {
					t.Errorf("%v timers never fired", got[record.Lost])
				}
			})
		}
	}
}

func TestUnknownNamesAreErrors(t *testing.T) {
	for _, j := range []record.Job{{Part: "x", Contender: peer.Time}, {Part: AddRemove, Contender: "x"}} {
		if err := new(Meter).Measure(j, new(record.Values)); err == nil || !strings.Contains(err.Error(), `"x"`) {
			t.Errorf("%v: got %v, want an error that names it", j, err)
		}
	}
}

// bad is package time with faults.
type bad struct {
	peer.Timers[*time.Timer]
	sink peer.Sink

	refuse  bool          // Remove returns false
	hasty   time.Duration // timers fire earlier by this time
	doubled bool          // timers fire twice
	forget  bool          // timers never fire
	deaf    bool          // Remove does nothing and returns true
	pending int           // result of Pending
}

func (b *bad) Set(d time.Duration, i int) *time.Timer {
	f := b.sink.Func(i)
	return time.AfterFunc(d-b.hasty, func() {
		if b.forget {
			return
		}
		f()
		if b.doubled {
			f()
		}
	})
}

func (b *bad) Remove(t *time.Timer) bool {
	if b.deaf {
		return true
	}
	return t.Stop() && !b.refuse
}

func (b *bad) Pending() (int, bool) { return b.pending, b.pending > 0 }

func opening(b *bad) opener[*time.Timer] {
	return func(s peer.Sink) peer.Timers[*time.Timer] {
		b.Timers, b.sink = peer.OpenTime(s), s
		return b
	}
}

func TestThroughputReportsAnImplementationThatDoesNotDoTheWork(t *testing.T) {
	for name, b := range map[string]*bad{"refuses": {refuse: true}, "miscounts": {pending: 17}} {
		if _, err := throughput(small(Replace, peer.Time), opening(b)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := throughput(small(Replace, peer.Time), opening(&bad{})); err != nil {
		t.Errorf("the good one: %v", err)
	}
}

func TestAccuracyReportsEachFault(t *testing.T) {
	for value, b := range map[string]*bad{
		record.Early:   {hasty: 20 * time.Millisecond},
		record.Doubled: {doubled: true},
		record.Undead:  {deaf: true},
	} {
		got, err := accuracy(small(Accuracy, peer.Time), opening(b))
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range []string{record.Early, record.Doubled, record.Undead} {
			if (got[fault] > 0) != (fault == value) {
				t.Errorf("with %s wrong: %s is %v", value, fault, got[fault])
			}
		}
	}
}

func TestMillionFailsIfNoTimerFires(t *testing.T) {
	defer func(was time.Duration) { patience = was }(patience)
	patience = 0
	if _, err := million(small(Million, peer.Time), opening(&bad{forget: true})); err == nil {
		t.Error("no error")
	}
}
