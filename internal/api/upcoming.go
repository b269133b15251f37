package api

import (
	"net/http"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/timespan"
	"github.com/foliot/foliot/internal/wire"
)

const defaultUpcoming = time.Hour

var (
	fromParam  = param{name: "from", about: "List what is due at this time or later: a time, or a duration from now. 0s is now, and leaves out overdue tasks. They are included by default."}
	untilParam = param{name: "until", about: "List what is due within this time from now; 1h by default.", format: duration}
)

func (s *Server) upcoming(w http.ResponseWriter, r *request) error {
	now := s.now()
	coming := forecast{now: now, queue: r.query.Get("queue")}
	if err := coming.read(r.query); err != nil {
		return err
	}
	most := r.query.number(limitParam, defaultLimit)
	end, err := s.readForecast(r, &coming, most)
	if err != nil {
		return err
	}
	items, more := coming.items(end, most)
	reply := wire.Upcoming{Time: showTime(now), Until: showTime(min(end, coming.until)), Items: make([]wire.UpcomingItem, len(items)), More: more || end <= coming.until}
	if more || reply.More && len(items) == most {
		reply.Until = showTime(items[len(items)-1].due)
	}
	for i, item := range items {
		reply.Items[i] = item.show(r.settings, now)
	}
	return s.reply(w, r, http.StatusOK, reply)
}

func (f *forecast) read(q query) (err error) {
	span := q.span(untilParam, defaultUpcoming)
	if span < 0 || span > task.MaxDuration {
		return refuse("out_of_range", "until", "must be between 0s and "+task.MaxDuration.String())
	}
	f.until = min(f.now.Add(span), task.Never-1)
	if !q.Has("from") {
		return nil
	}
	if f.from, err = parseFrom(q.Get("from"), f.now); err == nil && f.from > f.until {
		err = refuse("out_of_range", "from", "must not be later than until: use an earlier from, or a longer until")
	}
	return err
}

func parseFrom(s string, now task.Millis) (task.Millis, error) {
	if d, err := timespan.Parse(s); err == nil {
		return max(now.Add(d), 0), nil
	}
	at, err := parseTime("from", s)
	switch {
	case err != nil && strings.Contains(s, " "):
		return 0, err // explains how to encode a +
	case err != nil:
		return 0, refuse("bad_time", "from", "invalid: use a time, such as 2030-01-02T15:04:05Z, or a duration from now, such as 0s or -1h")
	}
	return max(task.CeilMillis(at), 0), nil
}

// readForecast reads the tasks and the schedules of f, all that are due before
// end.
func (s *Server) readForecast(r *request, f *forecast, most int) (end task.Millis, err error) {
	end = f.until + 1
	schedules := most
	if f.queue != "" {
		schedules = maxLimit // those of other queues count too
	}
	if f.from > 0 {
		// They have later instants too.
		early := store.UpcomingRead{Namespace: r.oneOrAll(), Queue: task.ScheduleQueue, Until: f.from - 1, Limit: maxLimit}
		page, err := s.store.Upcoming(r.Context(), early)
		if err != nil {
			return 0, err
		}
		f.early = page.Tasks
	}
	for _, part := range []struct {
		read store.UpcomingRead
		into *[]*task.Task
	}{
		{store.UpcomingRead{Queue: f.queue, From: f.from, Until: f.until, Limit: most}, &f.tasks},
		{store.UpcomingRead{Queue: task.ScheduleQueue, From: f.from, Until: f.until, Limit: schedules}, &f.schedules},
		{store.UpcomingRead{Queue: task.ScheduleQueue, From: task.Never, Until: task.Never, Limit: maxLimit}, &f.paused},
	} {
		part.read.Namespace = r.oneOrAll()
		page, err := s.store.Upcoming(r.Context(), part.read)
		if err != nil {
			return 0, err
		}
		*part.into = page.Tasks
		if page.More {
			end = min(end, page.Until)
		}
	}
	return end, nil
}

func (i *comingItem) show(known *settings.Settings, now task.Millis) wire.UpcomingItem {
	t := i.record
	shown := wire.UpcomingItem{Due: showTime(i.due), Namespace: t.Namespace, Queue: t.Queue, Name: t.Name, URL: t.Request.URL, Kind: t.Request.Kind}
	lane := t.Lane()
	if t.IsSchedule() {
		lane.Queue, lane.Priority = t.Recur.Queue, t.Recur.Priority
		shown.Queue, shown.Name, shown.Schedule, shown.Instant = lane.Queue, task.OccurrenceName(t.ScheduleName(), i.due), t.ScheduleName(), true
	} else {
		shown.Schedule, _ = showOrigin(t.Name)
		if t.Attempts > 0 {
			shown.Attempt = t.Attempts + 1
		}
	}
	hold := known.Hold(lane, max(now, i.due)) // a pause can end before
	if hold == settings.NotHeld && t.IsSchedule() && t.Recur.Paused {
		hold = settings.HeldByPause
	}
	shown.Held = string(hold)
	return shown
}
