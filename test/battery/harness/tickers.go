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

// Tickers are schedules that fire every second from their start on, and make up for every
// instant: some count elapsed time, and as many look at the clock.
type Tickers struct {
	start time.Time
	names []string
}

// StartTickers makes 2·pairs of them.
func (st *Environment) StartTickers(ctx context.Context, pairs int) (k Tickers, err error) {
	k.start = timing.DueIn(3 * time.Second).Truncate(time.Second)
	in := wire.ScheduleInput{
		Start: wire.FormatTime(k.start), Misfire: "fire_all", CatchupLimit: 10_000,
		Task: wire.ScheduledTask{HTTP: wire.HTTPInput{URL: st.Receiver.URL()}},
	}
	every, cron := in, in
	every.Every, cron.Cron = "1s", "* * * * * *"
	for i := range pairs {
		names := []string{fmt.Sprintf("every-%d", i), fmt.Sprintf("cron-%d", i)}
		k.names = append(k.names, names...)
		if err := st.Client.PutSchedule(ctx, names[0], every); err != nil {
			return k, err
		}
		if err := st.Client.PutSchedule(ctx, names[1], cron); err != nil {
			return k, err
		}
	}
	timing.Until(ctx, k.start)
	return k, nil
}

// StopTickers ends the schedules, and logs their promises.
func (st *Environment) StopTickers(ctx context.Context, k Tickers) error {
	for _, name := range k.names {
		if err := st.promiseInstants(ctx, name, k.start); err != nil {
			return err
		}
	}
	return nil
}

// promiseInstants ends a schedule, and logs its promise: an occurrence for each second
// from its start until then.
func (st *Environment) promiseInstants(ctx context.Context, name string, start time.Time) error {
	var s wire.Schedule
	if err := st.Client.Do(ctx, http.MethodPost, "/schedules/"+name+"/pause", nil, &s); err != nil {
		return err
	}
	last, err := time.Parse(time.RFC3339Nano, cmp.Or(s.LastAt, wire.FormatTime(start)))
	if err != nil {
		return fmt.Errorf("the last instant of %s: %w", name, err)
	}
	count := int64(0)
	for at := start; !at.After(last); at = at.Add(time.Second) {
		if err := st.accepted.Append(verify.Accepted{Name: name + "@" + strconv.FormatInt(at.UnixMilli(), 10), Due: at, At: start}); err != nil {
			return err
		}
		count++
	}
	behind := time.Since(last)
	runs := int64(-1)
	if s.Runs != nil {
		runs = *s.Runs
	}
	st.Run.Must(runs == count && behind < 2*time.Second && s.LastSkipped == nil,
		"%s: %d instants, the last one %s ago; %d made an occurrence, skipped %+v", name, count, verify.Millis(behind), runs, s.LastSkipped)
	return nil
}

// MustExpectAll holds the arrivals against the instants: there is no other.
func (st *Environment) MustExpectAll() error {
	e, err := st.Evidence()
	if err != nil {
		return err
	}
	strangers := e.Unexpected()
	st.Run.Must(len(strangers) == 0, "of no instant %d%s", len(strangers), verify.Examples(strangers))
	return nil
}
