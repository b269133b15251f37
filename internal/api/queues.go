package api

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
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
	reply := wire.QueueList{Queues: make([]wire.Queue, len(names)), NextCursor: next}
	for i, name := range names {
		reply.Queues[i] = showQueue(r.settings.Queue(r.namespace, name), name, counts[name], s.now())
	}
	return s.reply(w, r, http.StatusOK, reply)
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
	name, cond, err := conditional(r, r.queueName)
	if err != nil {
		return err
	}
	q := settings.QueueSettings{Namespace: r.namespace, Name: name}
	var owner settings.Owner
	if err := s.readSetting(w, r, func(rd *reader) error { return rd.decodeQueue(&q, &owner) }); err != nil {
		return err
	}
	changes, err := s.configure(w, r, "queue", settings.PutQueue{Queue: q, Owner: owner, If: cond})
	if err != nil {
		return err
	}
	made := queueAfter(changes)
	return s.replyQueue(w, r, putStatus(w, queuesPath, name, made.Version), name, made)
}

func (s *Server) deleteQueue(w http.ResponseWriter, r *request) error {
	return s.editQueue(w, r, http.StatusOK, func(name string, cond task.Precondition) settings.Edit {
		return settings.DropQueue{Namespace: r.namespace, Name: name, If: cond}
	})
}

func (s *Server) resumeQueue(w http.ResponseWriter, r *request) error {
	return s.editQueue(w, r, http.StatusOK, func(name string, cond task.Precondition) settings.Edit {
		return settings.PauseQueue{Namespace: r.namespace, Name: name, If: cond}
	})
}

func (s *Server) purgeQueue(w http.ResponseWriter, r *request) error {
	expected, err := readExpectation(r.query)
	if err != nil {
		return err
	}
	purge := func(name string, cond task.Precondition) settings.Edit {
		return settings.PurgeQueue{Namespace: r.namespace, Name: name, If: cond}
	}
	if expected == nil {
		return s.editQueue(w, r, http.StatusAccepted, purge)
	}
	return s.editQueue(w, r, http.StatusAccepted, purge, func() error {
		counts, err := s.counts(r.Context(), r.namespace)
		if err != nil {
			return err
		}
		n := counts[r.PathValue("queue")].States
		expected.found = int(n[task.Scheduled] + n[task.Running] + n[task.Dead]) // as QueueSettings.Doomed
		return expected.differs()
	})
}

// editQueue applies an edit to a queue that exists. The edit depends only on
// path, query and headers, and checks can refuse it.
func (s *Server) editQueue(w http.ResponseWriter, r *request, status int, edit func(string, task.Precondition) settings.Edit, checks ...func() error) error {
	name, cond, err := conditional(r, r.queueName)
	if err != nil {
		return err
	}
	if err := noBody(r); err != nil {
		return err
	}
	if err := s.knows(r, name); err != nil {
		return err
	}
	changes, err := s.configure(w, r, "queue", edit(name, cond), checks...)
	if err != nil {
		return err
	}
	made := queueAfter(changes)
	return s.replyQueue(w, r, status, name, made)
}

func (s *Server) pauseQueue(w http.ResponseWriter, r *request) error {
	name, cond, err := conditional(r, r.queueName)
	if err != nil {
		return err
	}
	until := end{now: s.now}
	if err := s.readOptional(w, r, until.decodePause); err != nil {
		return err
	}
	changes, err := s.configure(w, r, "queue", settings.PauseQueue{Namespace: r.namespace, Name: name, Paused: true, Until: until.at, If: cond})
	if err != nil {
		return err
	}
	made := queueAfter(changes)
	return s.replyQueue(w, r, putStatus(w, queuesPath, name, made.Version), name, made)
}

func (r *request) queueName() (string, error) {
	name := r.PathValue("queue")
	return name, task.ValidateName("queue", name)
}

// queueAfter returns the queue directly after an edit, because later edits of
// other requests do not belong in the reply.
func queueAfter(changes []settings.SettingChange) *settings.QueueSettings {
	for _, c := range changes {
		if q, ok := c.Value.(*settings.QueueSettings); ok {
			return q
		}
	}
	return new(settings.QueueSettings)
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
