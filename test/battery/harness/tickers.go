package harness

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// Tickers are schedules that fire every second from their start on, and create
// a task for each missed instant too. Half of them have an interval, and half
// have a cron expression.
type Tickers struct {
	start time.Time
	names []string
}

// StartTickers creates 2·pairs schedules.
func (e *Environment) StartTickers(ctx context.Context, pairs int) (k Tickers) {
	k.start = timing.DueIn(3 * time.Second).Truncate(time.Second)
	in := wire.ScheduleInput{
		ScheduleRule: wire.ScheduleRule{Start: wire.FormatTime(k.start), Missed: "fire_all", CatchupLimit: 10_000},
		Task:         wire.ScheduledTask{HTTP: wire.HTTPInput{URL: e.Receiver.URL()}},
	}
	every, cron := in, in
	every.Every, cron.Cron = "1s", "* * * * * *"
	for i := range pairs {
		names := []string{fmt.Sprintf("every-%d", i), fmt.Sprintf("cron-%d", i)}
		k.names = append(k.names, names...)
		Check(e.Client.PutSchedule(ctx, names[0], every))
		Check(e.Client.PutSchedule(ctx, names[1], cron))
	}
	timing.Until(ctx, k.start)
	return k
}

// StopTickers ends the schedules, and logs their promises.
func (e *Environment) StopTickers(ctx context.Context, k Tickers) {
	for _, name := range k.names {
		e.promiseInstants(ctx, name, k.start)
	}
}

// promiseInstants pauses a schedule, and logs its promise: an occurrence for
// each second from start until its last instant.
func (e *Environment) promiseInstants(ctx context.Context, name string, start time.Time) {
	var s wire.Schedule
	Check(e.Client.Do(ctx, http.MethodPost, "/schedules/"+name+"/pause", nil, &s))
	last := OK(time.Parse(time.RFC3339Nano, cmp.Or(s.LastAt, wire.FormatTime(start))))
	count := int64(0)
	for at := start; !at.After(last); at = at.Add(time.Second) {
		Check(e.accepted.Append(verify.Accepted{Name: name + "@" + strconv.FormatInt(at.UnixMilli(), 10), Due: at, At: start}))
		count++
	}
	behind := time.Since(last)
	runs := int64(-1)
	if s.Runs != nil {
		runs = *s.Runs
	}
	e.Run.Must(runs == count && behind < 2*time.Second && s.LastSkipped == nil,
		"%s: %d instants, the last one %s ago; %d made an occurrence, skipped %+v", name, count, verify.Millis(behind), runs, s.LastSkipped)
}

// MustExpectAll checks that each arrival has a promised instant.
func (e *Environment) MustExpectAll() {
	unexpected := e.Evidence().Unexpected()
	e.Run.Must(len(unexpected) == 0, "of no instant %d%s", len(unexpected), verify.Examples(unexpected))
}
