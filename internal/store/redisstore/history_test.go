package redisstore

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/history"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// All nodes may be away for days before an hour gets its sum.
func TestMinutesEndWithADayOnlyIfTheirHourHasASum(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	s := openNodeWith(t, Config{Shared: store.Shared{Node: "a"}}, r.Addr)
	now := task.FloorMillis(time.Now())
	left := func(hour bool) time.Duration {
		ms, err := strconv.Atoi(strings.TrimPrefix(redis(t, r, "PTTL", s.pastKey(hour, now)), ":"))
		fatal.If(t, err)
		return time.Duration(ms) * time.Millisecond
	}
	fatal.If(t, s.Remember(t.Context(), now, []history.Part{{At: now, Writer: "a"}}))
	if got := left(false); got < history.KeepHour {
		t.Errorf("minutes without a sum end after %s", got)
	}
	fatal.If(t, s.Remember(t.Context(), now, []history.Part{{Hour: true, At: now}}))
	if minutes, hours := left(false), left(true); minutes > history.KeepMinute+3*time.Hour || hours < history.KeepHour {
		t.Errorf("after the sum minutes end after %s, hours after %s", minutes, hours)
	}
}
