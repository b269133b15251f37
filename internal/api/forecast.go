package api

import (
	"cmp"
	"math"
	"slices"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// maxCounted bounds the instants before forecast.from that a request counts for
// max_runs, at about a microsecond each.
const maxCounted = 100_000

// forecast has the records from which the items of an upcoming list are made.
type forecast struct {
	now, from, until task.Millis
	queue            string // of the tasks that schedules create; empty means any

	tasks, schedules []*task.Task // in the order of their due times, which are at from or later
	early            []*task.Task // schedules with an instant before from
	paused           []*task.Task // schedules that are paused or have ended
	partial          bool         // not all instants before from are known
	counted          int          // instants before from
}

// comingItem is a task, or an instant of a schedule.
type comingItem struct {
	due    task.Millis
	record *task.Task
}

// items returns the tasks and instants that are due at or before end and until,
// in order: at most limit, and about MaxPageBytes. more is set if that left out
// some.
func (f *forecast) items(end task.Millis, limit int) (all []comingItem, more bool) {
	end = min(end, f.until)
	schedules, tasks, weight := f.series(), f.tasks, 0
	for {
		var next comingItem
		var first *series
		if len(schedules) > 0 {
			first = slices.MinFunc(schedules, func(a, b *series) int { return cmp.Compare(a.at, b.at) })
			next = comingItem{first.at, first.schedule}
		}
		if len(tasks) > 0 && (first == nil || tasks[0].Due <= first.at) {
			next = comingItem{tasks[0].Due, tasks[0]}
		}
		switch {
		case next.record == nil || next.due > end:
			return all, false
		case len(all) == limit || weight > task.MaxPageBytes:
			return all, true
		}
		all = append(all, next)
		weight += len(next.record.Request.URL)
		if !next.record.IsSchedule() {
			tasks = tasks[1:]
		} else if first.advance(f); first.at == 0 {
			schedules = slices.DeleteFunc(schedules, func(s *series) bool { return s == first })
		}
	}
}

// series returns the schedules that have an instant from f.from until f.until.
func (f *forecast) series() (all []*series) {
	for _, list := range [][]*task.Task{f.schedules, f.early, f.paused} {
		for _, t := range list {
			if f.queue != "" && t.Recur.Queue != f.queue {
				continue
			}
			s := &series{schedule: t, runs: t.Recur.Runs - 1, at: f.now - 1}
			if c, err := t.Recur.Calendar(); err == nil { // otherwise the schedule shows the problem
				s.calendar = &c
			}
			if t.Recur.Paused {
				s.advance(f)
			} else {
				s.runs, s.at = t.Recur.Runs, t.Recur.Next
			}
			s.skip(f)
			if s.at != 0 && s.at <= f.until {
				all = append(all, s)
			}
		}
	}
	return all
}

// series is the instants of a schedule.
type series struct {
	schedule *task.Task
	calendar *recurrence.Calendar // nil if the rule has a problem
	at       task.Millis          // the next instant; 0: none
	runs     int64                // the instants that have created a task by then
}

// skip moves s to the first instant that is not before f.from. Of the instants in
// the past, only one creates a task.
func (s *series) skip(f *forecast) {
	if s.at != 0 && s.at < min(f.now, f.from) {
		s.advance(f)
	}
	if s.at == 0 || s.at >= f.from {
		return
	}
	if s.schedule.Recur.MaxRuns > 0 {
		most := maxCounted - f.counted
		n := s.count(f.from-1, most)
		f.counted += s.cost(n)
		f.partial = f.partial || f.counted >= maxCounted
		s.runs += int64(n) - 1
	}
	s.at = f.from - 1
	s.advance(f)
}

func (s *series) advance(f *forecast) {
	after, r := max(s.at, f.now-1), s.schedule.Recur
	s.at, s.runs = 0, s.runs+1
	if r.MaxRuns > 0 && s.runs >= r.MaxRuns || s.calendar == nil {
		return
	}
	if next := s.calendar.Instants(after+1, f.until, 1); len(next) > 0 {
		s.at = next[0]
	}
}

// count returns the number of instants from s.at until a time, but of an expression at most
// most.
func (s *series) count(until task.Millis, most int) int {
	r := s.schedule.Recur
	if s.calendar == nil {
		return 1
	}
	if r.Cron == "" {
		most = math.MaxInt
	}
	if r.End != 0 {
		until = min(until, r.End)
	}
	if r.MaxRuns > 0 {
		most = int(min(int64(most), r.MaxRuns-s.runs))
	}
	return s.calendar.Count(recurrence.Span{From: s.at, Until: until}, most)
}

// cost returns how many instants were walked over to count n.
func (s *series) cost(n int) int {
	if s.schedule.Recur.Cron == "" {
		return 1
	}
	return n
}
