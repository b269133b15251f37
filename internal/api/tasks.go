package api

import (
	"net/http"

	"github.com/foliot/foliot/internal/task"
)

func (s *Server) create(w http.ResponseWriter, r *request) error {
	key, err := idempotencyKey(r.Request)
	if err != nil {
		return err
	}
	buf, err := s.readJSON(w, r.Request, s.requestLimit())
	if err != nil {
		return err
	}
	defer s.release(buf)
	spec, err := s.readSpec(buf.Bytes())
	if err != nil {
		return err
	}
	at := now()
	if err := s.complete(&spec, key, at); err != nil {
		return err
	}
	return s.createSpec(w, r, at, spec, idempotency(key, []byte(tasksPath), buf.Bytes()))
}

// readSpec reads the task that a whole document is.
func (s *Server) readSpec(data []byte) (task.Spec, error) {
	spec := task.DefaultSpec()
	err := document(data, func(r *reader) error { return r.decodeTask(&spec, s.cfg.BodyLimit) })
	return spec, err
}

// complete gives spec its namespace and id, and a name where it has none, and
// validates it.
func (s *Server) complete(spec *task.Spec, idempotencyKey string, now task.Millis) error {
	spec.Namespace = s.cfg.Namespace
	if idempotencyKey != "" && spec.Name == "" {
		spec.ID = task.DeriveID(spec.Namespace, idempotencyKey)
	} else {
		spec.ID = task.NewID(now)
	}
	if spec.Name == "" {
		spec.Name = spec.ID
	}
	return spec.Validate(now)
}

// idempotency returns what recognises a request, by its parts, when its
// Idempotency-Key comes again; nil without a key.
func idempotency(key string, parts ...[]byte) *task.Idempotency {
	if key == "" {
		return nil
	}
	return &task.Idempotency{Key: task.Digest([]byte(key)), Fingerprint: task.Digest(parts...)}
}

// createSpec creates a task and answers.
func (s *Server) createSpec(w http.ResponseWriter, r *request, at task.Millis, spec task.Spec, idem *task.Idempotency) error {
	done, err := s.apply(r, at, task.Create{Spec: spec, Idempotency: idem})
	if err != nil {
		return err
	}
	s.replyChange(w, r, http.StatusCreated, done.Task)
	return nil
}

func (s *Server) put(w http.ResponseWriter, r *request) error {
	key, cond, err := s.target(r)
	if err != nil {
		return err
	}
	buf, err := s.readJSON(w, r.Request, s.requestLimit())
	if err != nil {
		return err
	}
	defer s.release(buf)
	spec, err := s.readSpec(buf.Bytes())
	switch {
	case err != nil:
		return err
	case spec.Name != "" && spec.Name != key.Name:
		return refuse("name_mismatch", "name", "the path names the task: leave the name out, or give the same")
	}
	spec.Name = key.Name
	at := now()
	if err := s.complete(&spec, "", at); err != nil {
		return err
	}
	done, err := s.apply(r, at, task.Replace{Spec: spec, If: cond})
	if err != nil {
		return err
	}
	status := http.StatusOK
	if done.Effect == task.Created {
		status = http.StatusCreated
	}
	s.replyChange(w, r, status, done.Task)
	return nil
}

func (s *Server) get(w http.ResponseWriter, r *request) error {
	key, err := s.key(r.Request)
	if err != nil {
		return err
	}
	if r.query.Has("wait") {
		return s.getLater(w, r, key)
	}
	t, err := s.ledger.Get(r.Context(), key)
	if err != nil {
		return err
	}
	s.replyTask(w, r, http.StatusOK, show(t), t.ETag())
	return nil
}

func (s *Server) patch(w http.ResponseWriter, r *request) error {
	key, cond, err := s.target(r)
	if err != nil {
		return err
	}
	buf, err := s.readJSON(w, r.Request, s.requestLimit(), mergePatchType)
	if err != nil {
		return err
	}
	defer s.release(buf)
	p := task.Patch{Key: key, If: cond}
	if err := document(buf.Bytes(), func(rd *reader) error { return rd.decodePatch(&p, s.cfg.BodyLimit) }); err != nil {
		return err
	}
	at := now()
	if err := p.Validate(at); err != nil {
		return err
	}
	return s.change(w, r, at, p)
}

func (s *Server) touch(w http.ResponseWriter, r *request) error {
	return s.act(w, r, func(key task.Key, cond task.Precondition) task.Change { return task.Touch{Key: key, If: cond} })
}

func (s *Server) runNow(w http.ResponseWriter, r *request) error {
	return s.act(w, r, func(key task.Key, cond task.Precondition) task.Change { return task.Run{Key: key, If: cond} })
}

func (s *Server) retry(w http.ResponseWriter, r *request) error {
	return s.act(w, r, func(key task.Key, cond task.Precondition) task.Change { return task.Revive{Key: key, If: cond} })
}

func (s *Server) cancel(w http.ResponseWriter, r *request) error {
	return s.act(w, r, func(key task.Key, cond task.Precondition) task.Change { return task.Cancel{Key: key, If: cond} })
}

// act carries out a change that is said by path and headers alone.
func (s *Server) act(w http.ResponseWriter, r *request, what func(task.Key, task.Precondition) task.Change) error {
	key, cond, err := s.target(r)
	if err != nil {
		return err
	}
	if err := noBody(r.Request); err != nil {
		return err
	}
	return s.change(w, r, now(), what(key, cond))
}

// target reads which task r is about, and in which version.
func (s *Server) target(r *request) (task.Key, task.Precondition, error) {
	key, err := s.key(r.Request)
	if err != nil {
		return key, task.Precondition{}, err
	}
	cond, err := precondition(r.Request)
	return key, cond, err
}

// change carries out a change to an existing task and answers.
func (s *Server) change(w http.ResponseWriter, r *request, at task.Millis, c task.Change) error {
	done, err := s.apply(r, at, c)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if done.Effect == task.Accepted {
		status = http.StatusAccepted
	}
	s.replyChange(w, r, status, done.Task)
	return nil
}

// apply carries out one change.
func (s *Server) apply(r *request, at task.Millis, c task.Change) (task.Result, error) {
	replies, err := s.ledger.Apply(r.Context(), at, []task.Change{c})
	if err != nil {
		return task.Result{}, err
	}
	if err := replies[0].Err; err != nil {
		return task.Result{}, err
	}
	s.waiting.notify(c.Target())
	return replies[0].Result, nil
}
