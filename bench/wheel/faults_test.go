package wheel

import (
	"testing"
	"time"

	"github.com/foliot/foliot/bench/metric"
	"github.com/foliot/foliot/bench/peer"
)

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

func TestAnImplementationThatDoesNotDoTheWorkFails(t *testing.T) {
	for name, b := range map[string]*bad{"good": {}, "refuses": {refuse: true}, "miscounts": {pending: 17}} {
		if _, err := standing(300, opening(b)); (err == nil) != (name == "good") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAccuracyReportsEachFault(t *testing.T) {
	for value, b := range map[string]*bad{
		metric.Early:   {hasty: 20 * time.Millisecond},
		metric.Doubled: {doubled: true},
		undead:         {deaf: true},
	} {
		got, err := accuracy(300, opening(b))
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range []string{metric.Early, metric.Doubled, undead} {
			if (got[fault] > 0) != (fault == value) {
				t.Errorf("with %s wrong: %s is %v", value, fault, got[fault])
			}
		}
	}
}

func TestMillionFailsIfNoTimerFires(t *testing.T) {
	defer func(was time.Duration) { patience = was }(patience)
	patience = 0
	if _, err := million(300, opening(&bad{forget: true})); err == nil {
		t.Error("no error")
	}
}
