package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/foliot/foliot/internal/api/decode"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

func (s *Server) create(w http.ResponseWriter, r *request) error {
	key, err := idempotencyKey(r.Request)
	if err != nil {
		return err
	}
	spec, idem, err := s.readSpec(w, r, "", key)
	if err != nil {
		return err
	}
	at := s.now()
	if err := s.finalize(r, &spec, key, at); err != nil {
		return s.unlessRepeated(w, r, http.StatusCreated, &spec, idem, err)
	}
	return s.createSpec(w, r, at, spec, idem)
}

// unlessRepeated handles a request that is now invalid, but may repeat a valid
// one: the defaults of its queue may have changed in between. If it is a
// repeat, the reply is the task of the first request. Otherwise unlessRepeated
// returns refused.
//
// The store confirms the task, as for every repeat, because the first request
// may have failed for lack of confirmation. So a refused request with a key
// counts for the rate of creates, like a valid repeat.
func (s *Server) unlessRepeated(w http.ResponseWriter, r *request, status int, spec *task.Spec, idem *task.Idempotency, refused error) error {
	if idem == nil {
		return refused
	}
	if err := s.checkRate(w, r, settings.CreateRate); err != nil {
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
	return s.replyChange(w, r, status, done)
}

// readSpec reads the task in r, which has this name unless it sets another one. It
// also returns the mark of the request, whose Idempotency-Key is key.
func (s *Server) readSpec(w http.ResponseWriter, r *request, name, key string) (task.Spec, *task.Idempotency, error) {
	spec := task.DefaultSpec()
	spec.Name = name
	var idem *task.Idempotency
	defaults := func(queue string) task.Spec { // called when spec has all that the client set
		idem = idempotency(key, &spec, r.Method)
		return r.defaults(queue)
	}
	err := s.readJSON(w, r, s.requestLimit(), func(rd *reader) error { return rd.decodeTask(&spec, defaults, s.cfg.BodyLimit) })
	return spec, idem, err
}

// defaults returns a task with the defaults of queue.
func (r *request) defaults(queue string) task.Spec {
	return r.settings.Queue(r.namespace, queue).Spec()
}

// finalize sets the namespace, span and id of spec, and the name if it has
// none, and then validates spec.
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
	if err := spec.Validate(now); err != nil {
		return err
	}
	return s.checkKind(r, spec)
}

// checkKind refuses a kind, unless the namespace allows kinds or this process has
// handlers for the namespace.
func (s *Server) checkKind(r *request, spec *task.Spec) error {
	n := r.quotas()
	if spec.Request.Kind == "" || n == nil || n.Kinds || s.cfg.Engine != nil && s.cfg.Engine.Handles(r.namespace) {
		return nil
	}
	return refuse("kind_not_allowed", "work.kind", fmt.Sprintf("the namespace %q does not allow tasks with a kind: an operator can set kinds on it, if a program runs its tasks", r.namespace))
}

// idempotency returns the key and the fingerprint by which the store recognises
// a repeat. It returns nil without a key. The fingerprint is a digest of what the
// request means, so a repeat may have another encoding. What s leaves to its queue
// counts as the default of Foliot, because the queue's may change in between. If
// task.Spec gets a field, a tag omitempty keeps the fingerprints of earlier versions.
func idempotency(key string, s *task.Spec, route ...string) *task.Idempotency {
	if key == "" {
		return nil
	}
	means, body := *s, s.Request.Body
	means.Key, means.ID = task.Key{Name: s.Name}, ""
	if len(s.Labels) == 0 {
		means.Labels = nil // as if it was absent
	}
	q := &means.Request
	if q.BodyKind == task.JSONBody {
		body = decode.Meaning(body)
	}
	q.Body, q.BodySize, q.Headers = nil, 0, make(map[string]string, len(s.Request.Headers))
	for name, value := range s.Request.Headers {
		q.Headers[strings.ToLower(name)] = value
	}
	fields, _ := json.Marshal([]any{route, means}) // cannot fail
	return &task.Idempotency{Key: task.Digest([]byte(key)), Fingerprint: task.Digest(fields, body)}
}

func (s *Server) createSpec(w http.ResponseWriter, r *request, at task.Millis, spec task.Spec, idem *task.Idempotency) error {
	if err := s.checkRate(w, r, settings.CreateRate); err != nil {
		return err
	}
	done, err := s.apply(r, at, task.Create{Spec: spec, Idempotency: idem})
	if err != nil {
		return err
	}
	return s.replyChange(w, r, http.StatusCreated, done)
}

func (s *Server) put(w http.ResponseWriter, r *request) error {
	key, cond, err := conditional(r, r.key)
	if err != nil {
		return err
	}
	once, err := idempotencyKey(r.Request)
	if err != nil {
		return err
	}
	spec, idem, err := s.readSpec(w, r, key.Name, once)
	switch {
	case err != nil:
		return err
	case spec.Name != key.Name:
		return refuse("name_mismatch", "name", "differs from the name in the path: leave it out")
	}
	at := s.now()
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
	return s.replyChange(w, r, status, done)
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
	return s.replyRecord(w, r, http.StatusOK, s.show(r, t), t.ETag())
}

func (s *Server) patch(w http.ResponseWriter, r *request) error {
	key, cond, err := conditional(r, r.key)
	if err != nil {
		return err
	}
	p, spec := task.Patch{Key: key, If: cond}, task.DefaultSpec()
	f := taskFields{spec: &spec, patch: &p, plain: new(fieldReader), bodyLimit: s.cfg.BodyLimit}
	if err := s.readJSON(w, r, s.requestLimit(), func(rd *reader) error { return rd.decodePatch(&f) }, mergePatchType); err != nil {
		return err
	}
	if f.null&queueDefaults != 0 {
		queue := spec.Queue
		if p.Queue == nil { // if another change moves the task at the same time, that counts as the later one
			t, err := s.store.Get(r.Context(), key)
			if err != nil {
				return err
			}
			queue = t.Queue
		}
		f.given.fill(&spec, r.defaults(queue)) // p points to its fields
	}
	at := s.now()
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

// act applies a change that depends only on path and headers.
func (s *Server) act(w http.ResponseWriter, r *request, change func(task.Key, task.Precondition) task.Change) error {
	key, cond, err := conditional(r, r.key)
	if err != nil {
		return err
	}
	if err := noBody(r); err != nil {
		return err
	}
	return s.change(w, r, s.now(), change(key, cond))
}

// change applies a change to an existing task and replies.
func (s *Server) change(w http.ResponseWriter, r *request, at task.Millis, c task.Change) error {
	if err := s.checkRate(w, r, settings.ChangeRate); err != nil {
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
	return s.replyChange(w, r, status, done)
}

func (s *Server) apply(r *request, at task.Millis, c task.Change) (task.Result, error) {
	if err := s.revalidate(&r.caller); err != nil {
		return task.Result{}, err
	}
	replies, err := s.store.Transit(r.Context(), at, store.Changes([]task.Change{c}))
	if err != nil {
		return task.Result{}, err
	}
	if err := replies[0].Err; err != nil {
		return task.Result{}, err
	}
	r.reached(replies)
	s.waiting.notify(c.Target())
	if e, ok := settings.AuditChange(at, settings.ActorOf(r.Context()), c, replies[0].Result); ok {
		err = s.record(r, e)
	}
	return replies[0].Result, err
}
