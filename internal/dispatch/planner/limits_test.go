package planner

import (
	"fmt"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

func TestClockStepsDoNotChangeARate(t *testing.T) {
	pl := New(Config{Window: 5 * time.Second, Tasks: 1000}, 100)
	pl.Configure(noon, settings.NewSettings(&settings.QueueSettings{Name: "q", Rate: 1, Burst: 3}))
	now, started := noon, 0
	for i := range 60 {
		pl.Tick(time.Duration(i) * time.Second)
		now += []task.Millis{0, 3_600_000, -3_600_000, -86_400_000}[i%4] + 1000
		pl.check(now)
		for j := range 5 {
			pl.Hint(now, entry("host", fmt.Sprint("t", i, "-", j), now-1))
		}
		started += len(names(pl, now, 100))
	}
	if started != 3+59 {
		t.Errorf("%d have started within 59 s", started)
	}
}

func TestALimitThatHasJustEndedIsNotReported(t *testing.T) {
	pl := New(Config{Window: 5 * time.Second, Tasks: 1000}, 100)
	pl.Configure(noon, settings.NewSettings(&settings.QueueSettings{Name: "q", Rate: 1, Burst: 1}))
	pl.Tick(0)
	for i := range 5 {
		pl.Hint(noon, entry("host", fmt.Sprint("t", i), noon))
	}
	picks := pl.Take(noon, 1)
	pl.Begin(&picks[0])
	limit := func() Limit { return pl.Queues(noon.Time(), func(int) time.Time { return noon.Time() })[0].Limit }
	if l := limit(); l != LimitRate {
		t.Errorf("the limit is %q, want %q", l, LimitRate)
	}
	pl.Tick(time.Second) // the wake-up comes a moment later
	if l := limit(); l != NoLimit {
		t.Errorf("the limit is %q although the queue has a token", l)
	}
}
