package api

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

func (s *Server) listQueues(w http.ResponseWriter, r *request) error {
	counts, err := s.counts(r.Context(), r.namespace)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for name := range counts {
		known[name] = true
	}
	for _, setting := range r.settings.List(settings.QueueKind, r.namespace) {
		known[setting.Key().Name] = true
	}
	names, next, err := pageOf(r.query, slices.Sorted(maps.Keys(known)), func(name string) string { return name })
	if err != nil {
		return err
	}
	return s.writeItems(w, "queues", len(names), func(i int) any {
		return showQueue(r.settings.Queue(r.namespace, names[i]), names[i], counts[names[i]], s.now())
	}, next)
}

// counts returns the content of each queue of a namespace that has records.
func (s *Server) counts(ctx context.Context, namespace string) (map[string]task.Counts, error) {
	all, err := s.store.Counts(ctx)
	if err != nil {
		return nil, err
	}
	ours := map[string]task.Counts{}
	for key, c := range all {
		if key.Namespace == namespace && key.Queue != task.ScheduleQueue && c.Total() > 0 {
			ours[key.Queue] = c
		}
	}
	return ours, nil
}

func (s *Server) getQueue(w http.ResponseWriter, r *request) error {
	name, err := r.queueName()
	if err != nil {
		return err
	}
	if err := s.knows(r, name); err != nil {
		return err
	}
	return s.replyQueue(w, r, http.StatusOK, name, r.settings.Queue(r.namespace, name))
}

// knows refuses a queue that has neither settings nor tasks, because its name is
// probably misspelled.
func (s *Server) knows(r *request, name string) error {
	if r.settings.Queue(r.namespace, name).Version != 0 {
		return nil
	}
	counts, err := s.counts(r.Context(), r.namespace)
	if err != nil {
		return err
	}
	if _, used := counts[name]; !used {
		return &settings.MissingError{What: "queue", Name: name}
	}
	return nil
}

func (s *Server) putQueue(w http.ResponseWriter, r *request) error {
	return s.editQueue(w, r, 0, func(name string, cond task.Precondition) (settings.Edit, error) {
		e := settings.PutQueue{Queue: settings.QueueSettings{Namespace: r.namespace, Name: name}, If: cond}
		err := s.readSetting(w, r, func(rd *reader) error { return rd.decodeQueue(&e.Queue, &e.Owner) })
		return e, err
	})
}

func (s *Server) pauseQueue(w http.ResponseWriter, r *request) error {
	return s.editQueue(w, r, 0, func(name string, cond task.Precondition) (settings.Edit, error) {
		until := end{now: s.now}
		err := s.readOptional(w, r, until.decodePause)
		return settings.PauseQueue{Namespace: r.namespace, Name: name, Paused: true, Until: until.at, If: cond}, err
	})
}

func (s *Server) deleteQueue(w http.ResponseWriter, r *request) error {
	return s.editQueue(w, r, http.StatusOK, func(name string, cond task.Precondition) (settings.Edit, error) {
		return settings.DropQueue{Namespace: r.namespace, Name: name, If: cond}, s.knows(r, name)
	})
}

func (s *Server) resumeQueue(w http.ResponseWriter, r *request) error {
	return s.editQueue(w, r, http.StatusOK, func(name string, cond task.Precondition) (settings.Edit, error) {
		return settings.PauseQueue{Namespace: r.namespace, Name: name, If: cond}, s.knows(r, name)
	})
}

func (s *Server) purgeQueue(w http.ResponseWriter, r *request) error {
	expected := r.query.expectation()
	return s.editQueue(w, r, http.StatusAccepted, func(name string, cond task.Precondition) (settings.Edit, error) {
		return settings.PurgeQueue{Namespace: r.namespace, Name: name, If: cond}, s.knows(r, name)
	}, func() error {
		if expected == nil {
			return nil
		}
		counts, err := s.counts(r.Context(), r.namespace)
		if err != nil {
			return err
		}
		n := counts[r.PathValue("queue")].States
		expected.found = int(n[task.Scheduled] + n[task.Running] + n[task.Dead]) // as QueueSettings.Doomed
		return expected.differs()
	})
}

// editQueue applies an edit, which checks can refuse, and replies with the queue. If
// status is 0, edit reads the body of r itself, and the first edit creates the queue.
func (s *Server) editQueue(w http.ResponseWriter, r *request, status int, edit func(string, task.Precondition) (settings.Edit, error), checks ...func() error) error {
	name, cond, err := conditional(r, r.queueName)
	if err != nil {
		return err
	}
	e, err := edit(name, cond)
	if err != nil {
		return err
	}
	changes, err := s.configure(w, r, "queue", e, checks...)
	if err != nil {
		return err
	}
	// Later edits of other requests do not belong in the reply.
	made := new(settings.QueueSettings)
	if len(changes) > 0 && changes[0].Value != nil {
		made = changes[0].Value.(*settings.QueueSettings) // an edit of a queue changes no other setting
	}
	if status == 0 {
		status = putStatus(w, queuesPath, name, made.Version)
	}
	return s.replyQueue(w, r, status, name, made)
}

func (r *request) queueName() (string, error) {
	name := r.PathValue("queue")
	return name, task.ValidateName("queue", name)
}

func (s *Server) replyQueue(w http.ResponseWriter, r *request, status int, name string, q *settings.QueueSettings) error {
	counts, err := s.counts(r.Context(), r.namespace)
	if err != nil {
		return err
	}
	shown := showQueue(q, name, counts[name], s.now())
	shown.Unconfirmed = r.unconfirmed
	return s.replySetting(w, r, status, q.Version, q.ETag(), shown)
}
