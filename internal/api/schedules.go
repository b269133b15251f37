package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

func (s *Server) listSchedules(w http.ResponseWriter, r *request) error {
	f := task.Filter{Namespace: r.namespace, Queue: task.ScheduleQueue, States: []task.State{task.Scheduled}}
	var err error
	if f.Labels, err = r.query.labels(); err != nil {
		return err
	}
	p, err := r.query.page(nameCursor)
	if err != nil {
		return err
	}
	if err := r.refuseBodies(p); err != nil {
		return err
	}
	p.After, p.Before = task.ScheduleKey(r.namespace, p.After).Name, task.FirstTaskName
	listing, err := s.store.List(r.Context(), f, p)
	if err != nil {
		return err
	}
	return s.writeItems(w, "schedules", len(listing.Tasks), func(i int) any {
		t := listing.Tasks[i]
		listing.Tasks[i] = nil
		return r.showSchedule(s.now(), t)
	}, cursor(nameCursor, strings.TrimPrefix(listing.Next, "@")))
}

func (s *Server) getSchedule(w http.ResponseWriter, r *request) error {
	t, err := s.schedule(r)
	if err != nil {
		return err
	}
	return s.replyRecord(w, r, http.StatusOK, r.showSchedule(s.now(), t), t.ETag())
}

// schedule returns the schedule in the path of r, with the body of its tasks.
func (s *Server) schedule(r *request) (*task.Task, error) {
	key, err := r.scheduleKey()
	if err != nil {
		return nil, err
	}
	t, err := s.store.Get(r.Context(), key)
	if err != nil {
		return nil, ofSchedule(r, err)
	}
	if t.State != task.Scheduled { // it was removed, but not swept yet
		return nil, ofSchedule(r, task.ErrNotFound)
	}
	return t, nil
}

func (r *request) scheduleKey() (task.Key, error) {
	name := r.PathValue("name")
	if err := task.ValidateName("name", name); err != nil {
		return task.Key{}, err
	}
	if len(name) > task.MaxScheduleName {
		return task.Key{}, refuse("bad_name", "name", fmt.Sprintf("must have at most %d characters", task.MaxScheduleName))
	}
	return task.ScheduleKey(r.namespace, name), nil
}

func (s *Server) putSchedule(w http.ResponseWriter, r *request) error {
	key, cond, err := conditional(r, r.scheduleKey)
	if err != nil {
		return err
	}
	spec := newSchedule(task.Key{Namespace: r.namespace, Name: r.PathValue("name")})
	if err := s.readJSON(w, r, s.requestLimit(), func(rd *reader) error { return rd.decodeSchedule(&spec, r.defaults, s.cfg.BodyLimit) }); err != nil {
		return err
	}
	at := s.now()
	spec.ID = task.NewID(at)
	if err := spec.Validate(at); err != nil {
		return err
	}
	if err := s.checkKind(r, &spec.Spec); err != nil {
		return err
	}
	change := task.PutSchedule{Spec: spec, If: cond}
	if wait, err := s.takeRate(r, change); err != nil {
		return waitFor(w, wait, err)
	}
	done, err := s.apply(r, at, change)
	if err != nil {
		return ofSchedule(r, err)
	}
	status := http.StatusCreated
	if done.Effect != task.Created {
		status = http.StatusOK
		s.changed(r, 1)
	} else {
		w.Header().Set("Location", schedulesPath+"/"+strings.TrimPrefix(key.Name, "@"))
	}
	return s.replyScheduleChange(w, r, status, done.Task)
}

// onSchedule is onTask for a schedule, which must exist.
func onSchedule(change func(task.Key, task.Precondition) task.Change) handler {
	return func(s *Server, w http.ResponseWriter, r *request) error {
		key, cond, err := conditional(r, r.scheduleKey)
		if err != nil {
			return err
		}
		if err := s.checkRate(w, r, settings.ChangeRate, 1); err != nil {
			return err
		}
		done, err := s.apply(r, s.now(), change(key, cond))
		if err != nil {
			return ofSchedule(r, err)
		}
		return s.replyScheduleChange(w, r, http.StatusOK, done.Task)
	}
}

// ofSchedule replaces errors about tasks with errors about the schedule of r.
func ofSchedule(r *request, err error) error {
	switch {
	case errors.Is(err, task.ErrNotFound):
		return &settings.MissingError{What: "schedule", Name: r.PathValue("name")}
	case errors.Is(err, task.ErrPrecondition):
		return refuse("precondition_failed", "", "the schedule does not meet If-Match (its version) or If-None-Match (no schedule has the name): read it again")
	}
	return err
}
