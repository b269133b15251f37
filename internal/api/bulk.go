package api

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/timespan"
	"github.com/foliot/foliot/internal/wire"
)

// longSearch is the time after which a search that has found no task replies with the
// cursor to go on: a reply for each 10,000 records would cost more than the search.
const longSearch = 100 * time.Millisecond

func (s *Server) list(w http.ResponseWriter, r *request) error {
	f, err := r.filter()
	if err != nil {
		return err
	}
	ended, format := r.query.Has(orderParam.name), nameCursor
	if ended {
		format = endedCursor
		if err := f.endedOnly(); err != nil {
			return err
		}
	}
	p, err := r.query.page(format)
	if err != nil {
		return err
	}
	if err := r.refuseBodies(p); err != nil {
		return err
	}
	var listing task.Listing
	for begin := time.Now(); ; p.After = listing.Next {
		if ended {
			listing, err = s.store.List(r.Context(), f.Filter, f.NarrowEnded(s.now(), p))
		} else {
			listing, err = s.store.List(r.Context(), f.Filter, f.Narrow(p))
			listing.Next = pastSchedules(listing.Next)
		}
		if err != nil {
			return err
		}
		if len(listing.Tasks) > 0 || listing.Next == "" || time.Since(begin) > longSearch {
			break
		}
	}
	tasks := f.keep(r.settings, s.now(), listing.Tasks)
	return s.writeItems(w, "tasks", len(tasks), func(i int) any {
		t := tasks[i]
		tasks[i] = nil
		return s.show(r, t)
	}, cursor(format, listing.Next))
}

// bulkChange is a change of all tasks that match a filter.
type bulkChange struct {
	action string       // for the audit log
	detail string       // the same, besides the filter and the numbers
	states []task.State // the states of its tasks, if the filter names none
	of     func(key task.Key, only *task.Filter) task.Change
}

func (s *Server) cancelMany(w http.ResponseWriter, r *request) error {
	return s.changeMany(w, r, bulkChange{settings.ActionCancelMany, "", []task.State{task.Scheduled, task.Running, task.Dead}, func(key task.Key, only *task.Filter) task.Change {
		return task.Cancel{Key: key, Only: only}
	}})
}

func (s *Server) retryMany(w http.ResponseWriter, r *request) error {
	return s.changeMany(w, r, bulkChange{settings.ActionRetryMany, "", []task.State{task.Dead}, func(key task.Key, only *task.Filter) task.Change {
		return task.Revive{Key: key, Only: only}
	}})
}

func (s *Server) moveMany(w http.ResponseWriter, r *request) error {
	var p task.Patch
	if err := s.readSetting(w, r, func(rd *reader) error { return rd.decodeMove(&p) }); err != nil {
		return err
	}
	if err := p.Validate(s.now()); err != nil {
		return err
	}
	return s.changeMany(w, r, bulkChange{settings.ActionMoveMany, moveText(&p) + " ", []task.State{task.Scheduled}, func(key task.Key, only *task.Filter) task.Change {
		p := p
		p.Key, p.Only = key, only
		return p
	}})
}

func moveText(p *task.Patch) string {
	switch {
	case p.When == nil:
		return "by " + timespan.Text(p.Shift)
	case p.When.Relative:
		return "in " + timespan.Text(p.When.Delay)
	}
	return "to " + showTime(p.When.At)
}

// bulkStep is the number of tasks that are changed at once, and changes of
// other requests run between two steps.
const bulkStep = 100

// dryExamples is the number of tasks in the reply to a dry run.
const dryExamples = 20

// changeMany changes the matching tasks page by page, and replies with their
// number. Each change checks again that its task matches. If the request has an
// expected number, a first pass counts the tasks, and a dry run has only that
// pass.
func (s *Server) changeMany(w http.ResponseWriter, r *request, change bulkChange) error {
	f, err := r.filter()
	if err != nil {
		return err
	}
	if err := requireFilter(r); err != nil {
		return err
	}
	dry, expected := r.query.is(dryRunParam), r.query.expectation()
	if len(f.States) == 0 {
		f.States = change.states
	}
	var reply wire.BulkReply
	if err := s.checkChangeRate(w, r); err != nil {
		return err
	}
	if expected != nil || dry {
		if err := s.countMany(w, r, &f, expected, &reply); err != nil {
			return err
		}
	}
	if dry {
		return s.reply(w, r, http.StatusOK, reply)
	}
	reply = wire.BulkReply{}
	err = s.eachPage(w, r, &f, func(tasks []*task.Task) error {
		return s.changePage(r, &f.Filter, expected.keep(tasks), change.of, &reply)
	})
	detail := fmt.Sprintf("%s%s: changed %d, accepted %d, skipped %d", change.detail, filterText(r), reply.Changed, reply.Accepted, reply.Skipped)
	if err := cmp.Or(err, s.recordMany(r, change.action, "", detail, reply.Changed+reply.Accepted)); err != nil {
		return err
	}
	reply.Durability = s.durability(r)
	return s.reply(w, r, http.StatusOK, reply)
}

// countMany counts the matching tasks, and puts their number and some of them
// into the reply of a dry run. It returns an error if their number is not the
// expected one.
func (s *Server) countMany(w http.ResponseWriter, r *request, f *listFilter, expected *expectation, reply *wire.BulkReply) error {
	reply.Matched = new(int)
	err := s.eachPage(w, r, f, func(tasks []*task.Task) error {
		*reply.Matched += len(tasks)
		for _, t := range tasks[:min(len(tasks), dryExamples-len(reply.Examples))] {
			reply.Examples = append(reply.Examples, *s.show(r, t))
		}
		if expected != nil {
			expected.count(tasks)
		}
		return nil
	})
	if err == nil && expected != nil {
		err = expected.differs()
	}
	return err
}

// eachPage calls do with the matching tasks, one page at a time.
func (s *Server) eachPage(w http.ResponseWriter, r *request, f *listFilter, do func([]*task.Task) error) error {
	for after := ""; ; {
		allow(w, r.Request, time.Minute)
		if err := s.revalidate(&r.caller); err != nil {
			return err
		}
		listing, err := s.store.List(r.Context(), f.Filter, f.Narrow(task.Page{After: after, Limit: maxLimit}))
		if err != nil {
			return err
		}
		if err := do(f.keep(r.settings, s.now(), listing.Tasks)); err != nil {
			return err
		}
		if after = pastSchedules(listing.Next); after == "" {
			return nil
		}
	}
}

func (s *Server) changePage(r *request, f *task.Filter, tasks []*task.Task, change func(task.Key, *task.Filter) task.Change, count *wire.BulkReply) error {
	if len(tasks) == 0 {
		return nil
	}
	changes := make([]task.Change, len(tasks))
	keys := make([]task.Key, len(tasks))
	for i, t := range tasks {
		keys[i] = t.Key()
		changes[i] = change(keys[i], f)
	}
	for step := range slices.Chunk(changes, bulkStep) {
		replies, err := turn(r.Context(), s.gate, func() ([]store.Reply, error) {
			return s.store.Transit(r.Context(), s.now(), store.Changes(step)) // each step reads the clock
		})
		if err != nil {
			return err
		}
		s.changed(r, len(step))
		r.reached(replies)
		for _, reply := range replies {
			if err := countReply(reply, count); err != nil {
				return err
			}
		}
	}
	s.waiting.notify(keys...)
	return nil
}

// countReply adds one reply to count. A task that changed after the listing is
// skipped, but a refusal of the store is an error.
func countReply(reply store.Reply, count *wire.BulkReply) error {
	var (
		state *task.StateError
		field *task.FieldError // the changed record would not be valid
	)
	switch err := reply.Err; {
	case reply.Already:
		count.Skipped++
	case err == nil && reply.Effect == task.Accepted:
		count.Accepted++
	case err == nil:
		count.Changed++
	case errors.Is(err, task.ErrNotFound), errors.Is(err, task.ErrPrecondition), errors.As(err, &state), errors.As(err, &field):
		count.Skipped++
	default:
		return err
	}
	return nil
}

// requireFilter refuses a request without a filter, unless it has all=true.
func requireFilter(r *request) error {
	all := r.query.is(allParam)
	for _, p := range filterParams {
		all = all || r.query.Has(p.name)
	}
	if !all {
		return refuse("no_filter", "", "no filter: send one, or all=true")
	}
	return nil
}
