package api

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

const (
	hour             = task.Millis(time.Hour / time.Millisecond)
	maxUpcomingHours = 31 * 24
	maxInstants      = 200_000 // of all expressions, and hours of intervals, at about a microsecond each
	maxHourCounts    = 10_000  // in a reply; the others of an hour are one
)

// hourCounts has counts by all other fields of them.
type hourCounts map[wire.UpcomingCount]int64

func (h hourCounts) add(c wire.UpcomingCount, n int) {
	if _, known := h[c]; !known && len(h) >= maxHourCounts {
		c = wire.UpcomingCount{Hour: c.Hour}
	}
	h[c] += int64(n)
}

// upcomingHours counts what is due in each hour: tasks by queue, and instants by schedule.
func (s *Server) upcomingHours(w http.ResponseWriter, r *request, f *forecast) error {
	bounds := []task.Millis{f.from}
	if f.from < f.now { // overdue tasks belong to the present hour
		f.from = f.now
		bounds = append(bounds, f.now)
	}
	first, overdue := f.from-f.from%hour, len(bounds)-1
	n := int((f.until-first)/hour) + 1
	if n > maxUpcomingHours+1 { // the first one has begun
		return refuse("out_of_range", "until", "must be within 31 days of from")
	}
	end, err := s.readForecast(r, f, 0)
	if err != nil {
		return err
	}
	counts, until := hourCounts{}, min(end-1, f.until)
	read := store.DueRead{Namespace: r.oneOrAll(), Queue: f.queue, Bounds: bounds, Budget: dueBudget}
	if s.nodes != nil {
		read.Budget = sharedDueBudget
	}
	for i := range n {
		read.Bounds = append(read.Bounds, min(first+task.Millis(i+1)*hour, f.until+1))
	}
	exact, err := turn(r.Context(), s.gate, func() (task.Millis, error) {
		exact, err := s.store.Store.Due(r.Context(), read, func(l task.Lane, interval, tasks int) {
			if i := max(interval-1, overdue) - overdue; interval > 0 {
				held := string(r.settings.Hold(l, read.Bounds[overdue+i]))
				counts.add(wire.UpcomingCount{Hour: showTime(first + task.Millis(i)*hour), Namespace: l.Namespace, Queue: l.Queue, Held: held}, tasks)
			}
		})
		until = f.instants(r.settings, until, counts)
		return exact, err
	})
	if err != nil {
		return err
	}
	if until = min(until, exact); f.partial {
		until = f.from
	}
	reply := wire.Upcoming{Time: showTime(f.now), Until: showTime(until), Items: []wire.UpcomingItem{}, More: until < f.until}
	for _, c := range slices.SortedFunc(maps.Keys(counts), func(a, b wire.UpcomingCount) int {
		return cmp.Or(cmp.Compare(a.Hour, b.Hour), cmp.Compare(counts[b], counts[a]), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Schedule, b.Schedule), cmp.Compare(a.Held, b.Held))
	}) {
		c.Count = counts[c]
		reply.Hours = append(reply.Hours, c)
	}
	return s.reply(w, r, http.StatusOK, reply)
}

// instants counts the instants of schedules until a time, and returns the time until which
// all are counted.
func (f *forecast) instants(known *settings.Settings, until task.Millis, counts hourCounts) task.Millis {
	left, all := maxInstants, f.series()
	for first := f.from - f.from%hour; first <= until; first += hour {
		last := min(first+hour-1, f.until)
		for _, s := range all {
			if s.at == 0 || s.at > last {
				continue
			}
			t := s.schedule
			n := s.count(last, left+1)
			if left -= s.cost(n); left < 0 {
				return first - 1
			}
			item := comingItem{s.at, t}
			counts.add(wire.UpcomingCount{Hour: showTime(first), Namespace: t.Namespace, Queue: t.Recur.Queue, Schedule: t.ScheduleName(), Held: item.held(known, f.now)}, n)
			s.runs += int64(n) - 1
			s.at = last
			s.advance(f)
		}
	}
	return until
}
