package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/foliot/foliot/internal/api/decode"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// request is the argument of a handler.
type request struct {
	*http.Request
	caller
	ctx   context.Context // nil until the first call of Context
	scope settings.Scope  // of its route
	query query
	made  bool   // the store made a change, or confirmed an earlier one
	lower string // the durability that its changes reached, if that is lower than the store's
	out   *response

	unconfirmed []string // the nodes that have not applied its edit
}

// reached records the durability of changes of r.
func (r *request) reached(replies []store.Reply) {
	for i := range replies {
		if err := replies[i].Err; err == nil || errors.Is(err, task.ErrExists) {
			r.made, r.lower = true, cmp.Or(replies[i].Durability, r.lower)
		}
	}
}

// durability returns the level that all changes of r have reached, "" if it
// made none. An existing task counts as a change, because the store confirms it
// before it refuses the create, which it does for no other refusal.
func (s *Server) durability(r *request) string {
	if !r.made {
		return ""
	}
	return cmp.Or(r.lower, s.store.Standing().Durability)
}

// requestLimit returns the size of the largest valid request: the body of a
// task, and its URL, headers and labels. Every byte may be escaped as \u0000,
// as many clients do with characters outside ASCII.
func (s *Server) requestLimit() int {
	const others = 64 << 10
	return decode.Escaped * (s.cfg.BodyLimit + others)
}

// readJSON reads the body of r, which must be declared as JSON, with decode, which
// must keep no reference to its bytes.
func (s *Server) readJSON(w http.ResponseWriter, r *request, limit int, decode func(*reader) error, types ...string) error {
	if err := checkMediaType(r.Request, append(types, jsonType)); err != nil {
		return err
	}
	buf := s.buffer()
	defer s.release(buf)
	if err := s.readBody(w, r, limit, buf); err != nil {
		return err
	}
	return r.document(buf.Bytes(), decode)
}

func (s *Server) readBody(w http.ResponseWriter, r *request, limit int, buf *bytes.Buffer) error {
	if r.ContentLength > int64(limit) {
		w.Header().Set("Connection", "close") // do not read the rest
		return requestTooLarge(limit)
	}
	// Beyond this size, the buffer grows as bytes arrive.
	const first = 8 << 10
	buf.Grow(min(max(int(r.ContentLength), 0), first) + bytes.MinRead)
	// If bytes are left unread, net/http closes the connection slowly, so that a
	// reset does not discard the reply. It does so only if the writer here and
	// r.Body are its own types.
	_, err := buf.ReadFrom(http.MaxBytesReader(r.out.ResponseWriter, r.Body, int64(limit)))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return requestTooLarge(limit)
	case err != nil:
		return refuse("unreadable_body", "", "the body ended before its announced length: repeat the request")
	}
	return nil
}

func requestTooLarge(limit int) error {
	return refuse("request_too_large", "", fmt.Sprintf("the request must have at most %d bytes", limit))
}

func checkMediaType(r *http.Request, types []string) error {
	if given := r.Header["Content-Type"]; len(given) == 1 && given[0] == jsonType {
		return checkEncoding(r)
	}
	mediaType, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if charset := params["charset"]; err != nil || charset != "" && !strings.EqualFold(charset, "utf-8") {
		mediaType = ""
	}
	for _, t := range types {
		if mediaType == t {
			return checkEncoding(r)
		}
	}
	return refuse("unsupported_media_type", "Content-Type", "the body must be JSON: set content-type: application/json (curl: --json instead of -d)")
}

func checkEncoding(r *http.Request) error {
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return refuse("unsupported_encoding", "Content-Encoding", "compressed bodies are not supported: send the body uncompressed")
	}
	return nil
}

// noBody refuses a body on a route that would ignore it, except an empty
// object, which some clients send in place of no body.
func noBody(r *request) error {
	if r.Body == nil || r.ContentLength == 0 {
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(r.Body, 64))
	if err != nil {
		return refuse("unreadable_body", "", "the body ended before its announced length: repeat the request")
	}
	if b = bytes.TrimSpace(b); len(b) > 0 && string(b) != "{}" {
		return refuse("unexpected_body", "", "this route takes no body")
	}
	return nil
}

func (r *request) key() (task.Key, error) {
	name := r.PathValue("name")
	if err := task.ValidateRecordName("name", name); err != nil {
		return task.Key{}, err
	}
	return task.Key{Namespace: r.namespace, Name: name}, nil
}

func header(h http.Header, name string) (string, error) {
	values := h.Values(name)
	switch len(values) {
	case 0:
		return "", nil
	case 1:
		return values[0], nil
	}
	return "", refuse("repeated_parameter", name, "the header is given more than once")
}

func precondition(h http.Header) (task.Precondition, error) {
	var c task.Precondition
	if values, given := h["If-Match"]; given {
		tags, err := etags(strings.Join(values, ","))
		if err != nil {
			return c, err
		}
		for _, t := range tags {
			if strings.HasPrefix(t, weak) { // a weak tag matches nothing here: RFC 9110, 13.1.1
				t = ""
			}
			c.IfMatch = append(c.IfMatch, t)
		}
	}
	if values, given := h["If-None-Match"]; given {
		if strings.TrimSpace(strings.Join(values, ",")) != "*" {
			return c, refuse("bad_precondition", "If-None-Match", "a change supports only If-None-Match: *; to change a known version, send If-Match")
		}
		c.IfNoneMatch = true
	}
	return c, nil
}

func conditional[K any](r *request, key func() (K, error)) (K, task.Precondition, error) {
	k, err := key()
	if err != nil {
		return k, task.Precondition{}, err
	}
	cond, err := precondition(r.Header)
	return k, cond, err
}

const weak = "W/"

// etags splits a list of entity tags and removes their quotes, but keeps *.
func etags(list string) ([]string, error) {
	var tags []string
	for _, item := range strings.Split(list, ",") {
		item = strings.TrimSpace(item)
		if item == "*" {
			tags = append(tags, item)
			continue
		}
		bare, isWeak := strings.CutPrefix(item, weak)
		if len(bare) < 2 || bare[0] != '"' || bare[len(bare)-1] != '"' || strings.Contains(bare[1:len(bare)-1], `"`) {
			return nil, refuse("bad_precondition", "If-Match", `an entity tag must be in quotes, as in ETag: "id.version"`)
		}
		tag := bare[1 : len(bare)-1]
		if isWeak || tag == "*" { // "*" in quotes is a tag that does not exist, not the wildcard
			tag = weak + tag
		}
		tags = append(tags, tag)
	}
	return tags, nil
}

// idempotencyKey returns the Idempotency-Key, "" if it is absent.
func idempotencyKey(h http.Header) (string, error) {
	const field = "Idempotency-Key"
	if _, given := h[field]; !given {
		return "", nil
	}
	key, err := header(h, field)
	if err != nil {
		return "", err
	}
	if key == "" || len(key) > task.MaxIdempotencyKey || strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' }) {
		return "", refuse("bad_idempotency_key", field, fmt.Sprintf("must have 1 to %d printable ASCII characters", task.MaxIdempotencyKey))
	}
	return key, nil
}
