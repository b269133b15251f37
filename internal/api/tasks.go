package api

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/foliot/foliot/internal/api/decode"
	"github.com/foliot/foliot/internal/task"
)

func (s *Server) create(w http.ResponseWriter, r *request) error {
	key, err := idempotencyKey(r.Header)
	if err != nil {
		return err
	}
	spec, idem, err := s.readSpec(w, r, "", key)
	if err != nil {
		return err
	}
	at := s.now()
	c, err := s.createCall(r, &spec, idem, key, at)
	if err != nil {
		return err
	}
	return s.call(w, r, at, c)
}

// readSpec reads the task in r, which has this name unless it sets another one. It
// also returns the mark of the request, whose Idempotency-Key is key.
func (s *Server) readSpec(w http.ResponseWriter, r *request, name, key string) (task.Spec, *task.Idempotency, error) {
	spec, given := task.DefaultSpec(), task.Spec{}
	spec.Name = name
	err := s.readJSON(w, r, s.requestLimit(), func(rd *reader) error { return s.decodeSpec(rd, r, &spec, &given) })
	return spec, idempotency(key, &given, r.Method), err
}

// decodeSpec reads a task into spec. given gets the task without the defaults of its
// queue.
func (s *Server) decodeSpec(rd *reader, r *request, spec, given *task.Spec) error {
	return rd.decodeTask(spec, func(queue string) task.Spec {
		*given = *spec
		return r.defaults(queue)
	}, s.cfg.BodyLimit)
}

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
	return refuse("kind_not_allowed", "work.kind", fmt.Sprintf("the namespace %q does not allow tasks with a kind: if a program runs its tasks, allow them with foliot namespace set --kinds", r.namespace))
}

// idempotency returns the key and the fingerprint by which the store recognises
// a repeat. It returns nil without a key. The fingerprint is a digest of what the
// request means, so a repeat may have another encoding. What s leaves to its queue
// counts as the default of Foliot, because the queue's may change in between.
func idempotency(key string, s *task.Spec, route ...string) *task.Idempotency {
	if key == "" {
		return nil
	}
	q, body := &s.Request, s.Request.Body
	if q.BodyKind == task.JSONBody {
		body = decode.Meaning(body)
	}
	means := make([]byte, 0, 512)
	for _, text := range append(route, s.Name, s.Queue, s.OnDead, s.Trace, q.URL, q.Method, q.Kind, q.Destination) {
		means = appendText(means, text)
	}
	means = appendTexts(means, s.Labels, func(label string) string { return label })
	means = appendTexts(means, q.Headers, strings.ToLower)
	for _, n := range []int64{
		int64(s.Priority), int64(q.BodyKind), int64(s.When.At), flag(s.When.Relative), int64(s.When.Delay), int64(s.When.Next), int64(s.Timeout), int64(s.ExpireAfter),
		int64(s.Retry.MaxAttempts), int64(s.Retry.MinBackoff), int64(s.Retry.MaxBackoff), int64(s.Retry.MaxAge), flag(s.NotifySchedule),
	} {
		means = binary.AppendVarint(means, n)
	}
	return &task.Idempotency{Key: task.Digest([]byte(key)), Fingerprint: task.Digest(means, body)}
}

// appendText appends a text with its length, so that no two lists of texts have
// the same bytes.
func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// appendTexts appends a map in the order of its keys, which spell returns in one
// spelling.
func appendTexts(b []byte, m map[string]string, spell func(string) string) []byte {
	pairs := make([][2]string, 0, len(m))
	for k, v := range m {
		pairs = append(pairs, [2]string{spell(k), v})
	}
	slices.SortFunc(pairs, func(x, y [2]string) int { return strings.Compare(x[0], y[0]) })
	b = binary.AppendUvarint(b, uint64(len(pairs)))
	for _, p := range pairs {
		b = appendText(appendText(b, p[0]), p[1])
	}
	return b
}

func flag(set bool) int64 {
	if set {
		return 1
	}
	return 0
}

func (s *Server) put(w http.ResponseWriter, r *request) error {
	key, cond, err := conditional(r, r.key)
	if err != nil {
		return err
	}
	once, err := idempotencyKey(r.Header)
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
	c, err := s.putCall(r, &spec, idem, cond, at)
	if err != nil {
		return err
	}
	return s.call(w, r, at, c)
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
	return s.call(w, r, at, call{change: p, status: http.StatusOK})
}

// onTask returns the handler of a change that depends only on path and headers.
func onTask(change func(task.Key, task.Precondition) task.Change) handler {
	return func(s *Server, w http.ResponseWriter, r *request) error {
		key, cond, err := conditional(r, r.key)
		if err != nil {
			return err
		}
		return s.call(w, r, s.now(), call{change: change(key, cond), status: http.StatusOK})
	}
}
