package foliot_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/foliottest"
	"github.com/foliot/foliot/internal/fatal"
)

func TestAScheduleCallsItsHandlerAndWritesNothingIfNothingChanged(t *testing.T) {
	inBubble(t, succeed, func(t *testing.T, n *foliot.Node, c *calls) {
		for range 3 { // three starts of the program
			fatal.If(t, closeOrder.Schedule(t.Context(), n, "hourly", foliot.Cron("0 * * * *", "Europe/Berlin"), order{Cents: 1}))
			pass(time.Hour)
		}
		if c.len() != 3 || !strings.HasPrefix(c.list[0].Name, "hourly@") || c.list[0].Schedule != "hourly" || !c.list[0].Instant.Equal(c.at[0].Truncate(time.Hour)) || c.list[0].ID == c.list[1].ID {
			t.Errorf("%+v", c.list)
		}
		if i, err := n.Get(t.Context(), c.list[0].Name); err != nil || i.ID != c.list[0].ID || i.Schedule != "hourly" || !i.Instant.Equal(c.list[0].Instant) {
			t.Errorf("%+v, %v", i, err)
		}
		if v := foliot.StoredSchedule(t, n, "hourly").Version; v != 1 {
			t.Errorf("it was written %d times", v)
		}
		fatal.If(t, closeOrder.Schedule(t.Context(), n, "hourly", foliot.Cron("0 * * * *", "Europe/Berlin"), order{Cents: 2}))
		pass(time.Hour)
		if c.list[3].Args.Cents != 2 {
			t.Errorf("%+v", c.list[3])
		}
	})
}

func TestAScheduleIsNoTask(t *testing.T) {
	n := foliottest.Start(t, new(foliot.Mux))
	fatal.If(t, closeOrder.Schedule(t.Context(), n, "nightly", foliot.Every(time.Hour), order{}))
	_, get := n.Get(t.Context(), "@nightly")
	_, cancel := n.Cancel(t.Context(), "@nightly")
	if !errors.Is(get, foliot.ErrNotFound) || !errors.Is(cancel, foliot.ErrNotFound) {
		t.Errorf("Get: %v, Cancel: %v", get, cancel)
	}
}

func TestAScheduleThatHasEndedIsNotWrittenAgain(t *testing.T) {
	for name, rule := range map[string]foliot.Rule{
		"after its last run": {Every: time.Second, MaxRuns: 2},
		"after its end":      {Every: time.Minute, End: time.Date(2000, 1, 1, 0, 10, 0, 0, time.UTC)}, // bubbles begin at midnight
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, succeed, func(t *testing.T, n *foliot.Node, c *calls) {
				version := uint64(0)
				for start := range 4 {
					fatal.If(t, closeOrder.Schedule(t.Context(), n, "s", rule, order{}))
					got := foliot.StoredSchedule(t, n, "s").Version
					if start > 0 && got != version {
						t.Errorf("start %d wrote version %d after %d", start, got, version)
					}
					pass(15 * time.Minute)
					version = foliot.StoredSchedule(t, n, "s").Version
				}
				if c.len() == 0 || !foliot.StoredSchedule(t, n, "s").Recur.Ended() {
					t.Errorf("it has not ended: %d calls", c.len())
				}
			})
		})
	}
}

func TestThePoliciesOfARuleAreStored(t *testing.T) {
	n := foliottest.Start(t, new(foliot.Mux))
	for stored, r := range map[string]foliot.Rule{
		"fire_once allow": {}, "skip skip": {Missed: foliot.SkipMissed, Overlap: foliot.SkipOverlap}, "fire_all buffer_one": {Missed: foliot.FireAll, Overlap: foliot.BufferOne},
	} {
		r.Every = time.Hour
		fatal.If(t, closeOrder.Schedule(t.Context(), n, "s", r, order{}))
		if got := foliot.StoredSchedule(t, n, "s").Recur; got.Missed.String()+" "+got.Overlap.String() != stored {
			t.Errorf("%v and %v are stored, want %s", got.Missed, got.Overlap, stored)
		}
	}
}
