package api

import (
	"net/http"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

const defaultUpcoming = time.Hour

var (
	fromParam  = param{name: "from", about: "List what is due at this time or later: a time, or a duration from now. 0s is now, and leaves out overdue tasks. They are included by default."}
	untilParam = param{name: "until", about: "List what is due at this time or earlier: a time, or a duration from now. By default an hour after from, or from now."}
	hourParam  = param{name: "by", about: "hour: count what is due in each hour, by queue and by schedule, in place of a list; for at most 31 days. Overdue tasks count in the present hour. limit bounds only a list.", enum: []string{"hour"}}
)

func (s *Server) upcoming(w http.ResponseWriter, r *request) error {
	now := s.now()
	coming := forecast{now: now, queue: r.query.Get("queue")}
	if err := coming.read(r.query); err != nil {
		return err
	}
	if r.query.Has(hourParam.name) {
		return s.upcomingHours(w, r, &coming)
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
	if coming.partial {
		reply.Until, reply.More = showTime(max(coming.from, now)), true
	}
	for i, item := range items {
		reply.Items[i] = item.show(r.settings, now)
	}
	return s.reply(w, r, http.StatusOK, reply)
}

func (f *forecast) read(q query) (err error) {
	if f.from, err = q.instant("from", f.now, 0); err != nil {
		return err
	}
	if f.until, err = q.instant("until", f.now, max(f.from, f.now).Add(defaultUpcoming)); err != nil {
		return err
	}
	if f.until >= f.now.Add(-time.Minute) { // the present of another clock
		f.until = max(f.until, f.now)
	}
	switch {
	case f.until < f.now:
		err = refuse("out_of_range", "until", "must not be in the past")
	case f.until > f.now.Add(task.MaxDuration):
		err = refuse("out_of_range", "until", "must be within "+task.MaxDuration.String())
	case f.from > f.until:
		err = refuse("out_of_range", "from", "must not be later than until: use an earlier from, or a later until")
	}
	return err
}

// readForecast reads at most most tasks, and the schedules of f, all that are due before
// end.
func (s *Server) readForecast(r *request, f *forecast, most int) (end task.Millis, err error) {
	end = f.until + 1
	schedules := most
	if f.queue != "" || most == 0 {
		schedules = maxLimit // those of other queues count too
	}
	if f.from > 0 {
		// They have later instants too.
		early := store.UpcomingRead{Namespace: r.oneOrAll(), Queue: task.ScheduleQueue, Until: f.from - 1, Limit: maxLimit}
		page, err := s.store.Upcoming(r.Context(), early)
		if err != nil {
			return 0, err
		}
		f.early, f.partial = page.Tasks, page.More
	}
	for _, part := range []struct {
		read store.UpcomingRead
		into *[]*task.Task
	}{
		{store.UpcomingRead{Queue: f.queue, From: f.from, Until: f.until, Limit: most}, &f.tasks},
		{store.UpcomingRead{Queue: task.ScheduleQueue, From: f.from, Until: f.until, Limit: schedules}, &f.schedules},
		{store.UpcomingRead{Queue: task.ScheduleQueue, From: task.Never, Until: task.Never, Limit: maxLimit}, &f.paused},
	} {
		if part.read.Limit == 0 {
			continue
		}
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
	if t.IsSchedule() {
		shown.Queue, shown.Name, shown.Schedule, shown.Instant = t.Recur.Queue, task.OccurrenceName(t.ScheduleName(), i.due), t.ScheduleName(), true
	} else {
		shown.Schedule, _ = showOrigin(t.Name)
		if t.Attempts > 0 {
			shown.Attempt = t.Attempts + 1
		}
	}
	shown.Held = i.held(known, now)
	return shown
}

// held returns why the item will not start when it is due, or "".
func (i *comingItem) held(known *settings.Settings, now task.Millis) string {
	lane := i.record.Lane()
	if r := i.record.Recur; i.record.IsSchedule() {
		lane.Queue, lane.Priority = r.Queue, r.Priority
	}
	hold := known.Hold(lane, max(now, i.due)) // a pause can end before
	if hold == settings.NotHeld && i.record.IsSchedule() && i.record.Recur.Paused {
		hold = settings.HeldByPause
	}
	return string(hold)
}
