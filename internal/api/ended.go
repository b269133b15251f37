package api

import (
	"net/http"

	"github.com/foliot/foliot/internal/task"
)

// endedStates are the states that a list in the order of ends can have.
var endedStates = []task.State{task.Delivered, task.Cancelled, task.Expired, task.Dead}

// listEnded lists the tasks that ended last.
func (s *Server) listEnded(w http.ResponseWriter, r *request, f *listFilter, p task.Page) error {
	switch {
	case r.query.Has(cursorParam.name):
		return refuse("bad_parameter", cursorParam.name, "a list with order=ended has one page: leave cursor out, and use limit and filters")
	case p.Bodies:
		return refuse("bad_parameter", includeParam.name, "a list with order=ended has no bodies: read single tasks")
	case len(f.States) == 0:
		f.States = endedStates
	}
	for _, state := range f.States {
		if state.Live() {
			return refuse("bad_parameter", "state", "order=ended lists only delivered, cancelled, expired and dead tasks: leave state out, or name some of these states")
		}
	}
	found, err := s.endedTasks(r, &f.Filter, p.Limit)
	if err != nil {
		return err
	}
	end := listEnd{More: found.More, Since: showOptional(found.Since)}
	return s.writeItems(w, "tasks", len(found.Tasks), func(i int) any {
		t := found.Tasks[i]
		found.Tasks[i] = nil
		return s.show(r, t)
	}, end)
}

// endedTasks searches the indexes of ended tasks, which all namespaces share. If
// too many tasks of other namespaces are in the way, it reads all records of a
// small namespace instead.
func (s *Server) endedTasks(r *request, f *task.Filter, limit int) (task.Ended, error) {
	now := s.now()
	found, err := s.store.ListEnded(r.Context(), now, *f, limit)
	if err != nil || found.Since == 0 {
		return found, err
	}
	counts, err := s.store.Counts(r.Context())
	if err != nil {
		return found, err
	}
	records := int64(0)
	for queue, c := range counts {
		if queue.Namespace == f.Namespace {
			records += c.Total()
		}
	}
	if records > task.MaxPageExamined {
		return found, nil
	}
	latest := task.NewLatest(limit)
	for page := f.Narrow(task.Page{Limit: task.MaxPageExamined}); ; {
		listing, err := s.store.List(r.Context(), *f, page)
		if err != nil {
			return found, err
		}
		for _, t := range listing.Tasks {
			if t.KeepUntil > now {
				latest.Add(t)
			}
		}
		if page.After = pastSchedules(listing.Next); page.After == "" {
			return latest.Result(false), nil
		}
	}
}
