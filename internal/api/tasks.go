package api

import (
	"errors"
	"net/http"

	"github.com/foliot/foliot/internal/task"
)

func (s *Server) create(w http.ResponseWriter, r *request) error {
	key, err := idempotencyKey(r.Request)
	if err != nil {
		return err
	}
	buf, err := s.readJSON(w, r, s.requestLimit())
	if err != nil {
		return err
	}
	defer s.release(buf)
	spec, err := s.readSpec(r, buf.Bytes())
	if err != nil {
		return err
	}
	at, idem := s.now(), idempotency(key, []byte(tasksPath), buf.Bytes())
	if err := s.finalize(r, &spec, key, at); err != nil {
		return s.unlessRepeated(w, r, http.StatusCreated, &spec, idem, err)
	}
	return s.createSpec(w, r, at, spec, idem)
}

// unlessRepeated answers the repeat of a request with the task that it made, and
// returns refused if it is none: what was valid when it came first need not be
// valid with the defaults that its queue has now. The store confirms the task, as
// it does for any repeat: the first request may have failed because it could not. So a
// refused request with a key takes a create, as a repeat that is valid does.
func (s *Server) unlessRepeated(w http.ResponseWriter, r *request, status int, spec *task.Spec, idem *task.Idempotency, refused error) error {
	if idem == nil {
		return refused
	}
	if err := s.checkRate(w, r, task.CreateRate); err != nil {
		return err
	}
	done, err := s.apply(r, s.now(), task.Repeat{Key: spec.Key, Idempotency: idem})
	switch {
	case errors.Is(err, task.ErrNotFound), errors.Is(err, task.ErrIdempotencyReuse):
		return refused
	case err != nil:
		return err
	}
	done.UnderWay = done.UnderWay && status == http.StatusOK
	s.replyChange(w, r, status, done)
	return nil
}

// readSpec reads the task that a whole document is.
func (s *Server) readSpec(r *request, data []byte) (task.Spec, error) {
	spec := task.DefaultSpec()
	err := r.document(data, func(rd *reader) error { return rd.decodeTask(&spec, r.defaults, s.cfg.BodyLimit) })
	return spec, err
}

// defaults returns what a task in that queue has whose creator says nothing.
func (r *request) defaults(queue string) task.Spec {
	return r.settings.Queue(r.namespace, queue).Spec()
}

// finalize gives spec its namespace, span and id, and a name where it has none,
// and validates it.
func (s *Server) finalize(r *request, spec *task.Spec, idempotencyKey string, now task.Millis) error {
	spec.Namespace = r.namespace
	if spec.Trace == "" {
		spec.Trace = s.trace(r.Request)
	}
	spec.ID = task.NewID(now)
	switch {
	case spec.Name != "":
	case idempotencyKey != "":
		spec.Name = task.DeriveName(spec.Namespace, idempotencyKey)
	default:
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
	if err := s.checkRate(w, r, task.CreateRate); err != nil {
		return err
	}
	done, err := s.apply(r, at, task.Create{Spec: spec, Idempotency: idem})
	if err != nil {
		return err
	}
	s.replyChange(w, r, http.StatusCreated, done)
	return nil
}

func (s *Server) put(w http.ResponseWriter, r *request) error {
	key, cond, err := s.target(r)
	if err != nil {
		return err
	}
	once, err := idempotencyKey(r.Request)
	if err != nil {
		return err
	}
	buf, err := s.readJSON(w, r, s.requestLimit())
	if err != nil {
		return err
	}
	defer s.release(buf)
	spec, err := s.readSpec(r, buf.Bytes())
	switch {
	case err != nil:
		return err
	case spec.Name != "" && spec.Name != key.Name:
		return refuse("name_mismatch", "name", "the path names the task: leave the name out, or give the same")
	}
	spec.Name = key.Name
	at, idem := s.now(), idempotency(once, []byte(taskPath), []byte(key.Name), buf.Bytes())
	if err := s.finalize(r, &spec, "", at); err != nil {
		return s.unlessRepeated(w, r, http.StatusOK, &spec, idem, err)
	}
	if err := s.checkPutRate(w, r); err != nil {
		return err
	}
	done, err := s.apply(r, at, task.Replace{Spec: spec, If: cond, Idempotency: idem})
	if err != nil {
		return err
	}
	status := http.StatusOK
	switch done.Effect {
	case task.Created:
		status = http.StatusCreated
	case task.Updated:
		s.changed(r, 1)
	}
	s.replyChange(w, r, status, done)
	return nil
}

func (s *Server) get(w http.ResponseWriter, r *request) error {
	key, err := r.key()
	if err != nil {
		return err
	}
	if r.query.Has("wait") {
		return s.getLater(w, r, key)
	}
	t, err := s.store.Get(r.Context(), key)
	if err != nil {
		return err
	}
	s.replyTask(w, r, http.StatusOK, s.show(r, t), t.ETag())
	return nil
}

func (s *Server) patch(w http.ResponseWriter, r *request) error {
	key, cond, err := s.target(r)
	if err != nil {
		return err
	}
	buf, err := s.readJSON(w, r, s.requestLimit(), mergePatchType)
	if err != nil {
		return err
	}
	defer s.release(buf)
	p, defaults := task.Patch{Key: key, If: cond}, task.DefaultSpec()
	if err := r.document(buf.Bytes(), func(rd *reader) error { return rd.decodePatch(&p, &defaults, s.cfg.BodyLimit) }); err != nil {
		return err
	}
	if ofQueue(&p, &defaults) {
		queue, err := s.queueOf(r, &p)
		if err != nil {
			return err
		}
		given{}.fill(&defaults, r.defaults(queue))
	}
	at := s.now()
	if err := p.Validate(at); err != nil {
		return err
	}
	return s.change(w, r, at, p)
}

// queueOf returns the queue that p's task will be in. Where p does not say, it is
// the one it is in: should another change move it meanwhile, that counts as the
// later of the two.
func (s *Server) queueOf(r *request, p *task.Patch) (string, error) {
	if p.Queue != nil {
		return *p.Queue, nil
	}
	t, err := s.store.Get(r.Context(), p.Key)
	if err != nil {
		return "", err
	}
	return t.Queue, nil
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
	if err := noBody(r); err != nil {
		return err
	}
	return s.change(w, r, s.now(), what(key, cond))
}

// target reads which task r is about, and in which version.
func (s *Server) target(r *request) (task.Key, task.Precondition, error) {
	key, err := r.key()
	if err != nil {
		return key, task.Precondition{}, err
	}
	cond, err := precondition(r.Request)
	return key, cond, err
}

// change carries out a change to an existing task and answers.
func (s *Server) change(w http.ResponseWriter, r *request, at task.Millis, c task.Change) error {
	if err := s.checkRate(w, r, task.ChangeRate); err != nil {
		return err
	}
	done, err := s.apply(r, at, c)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if done.Effect == task.Accepted {
		status = http.StatusAccepted
	}
	s.replyChange(w, r, status, done)
	return nil
}

// apply carries out one change.
func (s *Server) apply(r *request, at task.Millis, c task.Change) (task.Result, error) {
	if err := s.revalidate(&r.caller); err != nil {
		return task.Result{}, err
	}
	replies, err := s.store.Apply(r.Context(), at, []task.Change{c})
	if err != nil {
		return task.Result{}, err
	}
	if err := replies[0].Err; err != nil {
		return task.Result{}, err
	}
	r.reached(replies)
	s.waiting.notify(c.Target())
	return replies[0].Result, nil
}
