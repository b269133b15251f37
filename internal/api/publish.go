package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/foliot/foliot/internal/spelling"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

var publishQuery = []param{{name: "url", about: "The URL to call, encoded as a query parameter.", format: "uri", required: true}}

var publishHeaders = []param{
	{name: "Foliot-Delay", about: "The task is due after this time.", format: duration},
	{name: "Foliot-At", about: "The due time.", format: "date-time"},
	{name: "Foliot-Name", about: "The task's name."},
	{name: "Foliot-Queue", about: "The task's queue."},
	{name: "Foliot-Retries", about: "The number of retries after a failed attempt. Absent: retries until max_age ends.", format: "integer", high: task.MaxAttemptsLimit - 1},
}

func (s *Server) publish(w http.ResponseWriter, r *request) error {
	key, err := idempotencyKey(r.Header)
	if err != nil {
		return err
	}
	spec := task.DefaultSpec()
	if spec.Request.URL = r.query.Get("url"); spec.Request.URL == "" {
		return refuse("required", "url", "missing: send the URL to call, encoded")
	}
	var given fieldSet
	if err := instructions(r.Request, &spec, &given); err != nil {
		return err
	}
	if err := s.publishedBody(w, r, &spec.Request); err != nil {
		return err
	}
	// The other headers can differ between repeats, such as traces.
	idem := idempotency(key, &spec, "publish", r.Header.Get("Content-Type"))
	given.fill(&spec, r.defaults(spec.Queue))
	if spec.Request.Headers, err = forwarded(r.Header); err != nil {
		return err
	}
	at := s.now()
	c, err := s.createCall(r, &spec, idem, key, at)
	if err != nil {
		return published(err)
	}
	c.refused = published(c.refused)
	return s.call(w, r, at, c)
}

func instructions(r *http.Request, spec *task.Spec, given *fieldSet) error {
	spec.When = task.When{Relative: true}
	for name := range r.Header {
		if !strings.HasPrefix(name, "Foliot-") || strings.HasPrefix(name, forwardPrefix) || name == wire.NamespaceHeader || name == wire.ClientHeader {
			continue
		}
		value, err := header(r.Header, name)
		if err != nil {
			return err
		}
		switch name {
		case "Foliot-Delay":
			spec.When.Delay, err = parseDuration(name, value)
		case "Foliot-At":
			if r.Header.Get("Foliot-Delay") != "" {
				return refuse("two_due_times", name, "cannot be combined with Foliot-Delay")
			}
			t, e := parseTime(name, value)
			spec.When, err = task.When{At: task.CeilMillis(t)}, e
		case "Foliot-Name":
			spec.Name, err = value, task.ValidateName(name, value)
		case "Foliot-Queue":
			spec.Queue, err = value, task.ValidateName(name, value)
		case "Foliot-Retries":
			var n int
			n, err = strconv.Atoi(value)
			if err != nil || n < 0 || n >= task.MaxAttemptsLimit {
				return refuse("out_of_range", name, "must be a number between 0 and "+strconv.Itoa(task.MaxAttemptsLimit-1))
			}
			spec.Retry.MaxAttempts, *given = 1+n, maxAttemptsField
		default:
			known := namesOf(publishHeaders)
			detail := "unknown header: use " + strings.Join(known, ", ") + " or " + forwardPrefix + "<header>"
			err = suggest(refuse("unknown_header", name, detail), spelling.Nearest(name, known))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// forwardPrefix begins the names of headers that the task must send, without
// the prefix. No proxy in front of this server adds such a header.
const forwardPrefix = "Foliot-Forward-"

// contentHeaders describe the body, and the task sends them unchanged. All other
// headers belong to this request, and no receiver must get them, because proxies
// add some: the identity and address of the caller, tokens and certificates.
var contentHeaders = []string{"Content-Type", "Content-Encoding", "Content-Language", "Content-Disposition", "Content-Digest"}

// forwarded returns the headers that the task of a published request sends. A
// header that was sent several times becomes one, if its values can be joined.
func forwarded(h http.Header) (map[string]string, error) {
	sent := map[string]string{}
	for name, values := range h {
		given, ok := strings.CutPrefix(name, forwardPrefix)
		given = textproto.CanonicalMIMEHeaderKey(given)
		if _, replaced := h[forwardPrefix+name]; !ok && slices.Contains(contentHeaders, name) && !replaced {
			given, ok = name, true
		}
		if !ok {
			continue
		}
		separator := ", "
		switch {
		case given == "Cookie":
			separator = "; " // RFC 6265
		case len(values) > 1 && slices.Contains(singleHeaders, given):
			return nil, refuse("repeated_parameter", name, "the header is given more than once, and its values cannot be joined")
		}
		sent[given] = strings.Join(values, separator)
	}
	return sent, nil
}

// singleHeaders are known headers that are no lists, so their values cannot be
// joined.
var singleHeaders = []string{"Authorization", "Content-Disposition", "Content-Type", "Date", "From", "If-Modified-Since", "If-Range", "If-Unmodified-Since", "Max-Forwards", "Origin", "Range", "Referer", "Set-Cookie", "User-Agent"}

// publishedBody reads a body of any type. The kind of the body affects only the
// form in which reads show it, because the task sends the headers that describe
// the body.
func (s *Server) publishedBody(w http.ResponseWriter, r *request, q *task.Request) error {
	var buf bytes.Buffer
	err := s.readBody(w, r, s.cfg.BodyLimit, &buf)
	if err != nil {
		if problemOf(err).Status == http.StatusRequestEntityTooLarge {
			return bodyTooLarge("", s.cfg.BodyLimit)
		}
		return err
	}
	q.Body, q.BodySize = bytes.Clone(buf.Bytes()), buf.Len() // the buffer is larger
	switch mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); {
	case buf.Len() == 0:
		q.Body, q.BodyKind = nil, task.NoBody
	case mediaType == jsonType && utf8.Valid(q.Body) && json.Valid(q.Body):
		q.BodyKind = task.JSONBody
	case strings.HasPrefix(mediaType, "text/") && utf8.Valid(q.Body):
		q.BodyKind = task.TextBody
	default:
		q.BodyKind = task.BinaryBody
	}
	return nil
}

// published replaces the field of a task in err with the parameter or header of
// the publish request.
func published(err error) error {
	var field *task.FieldError
	if !errors.As(err, &field) {
		return err
	}
	path := field.Path
	switch path {
	case "http.url":
		path = "url"
	case "http.headers":
		path = ""
	case "delay":
		path = "Foliot-Delay"
	case "at":
		path = "Foliot-At"
	default:
		if name, ok := strings.CutPrefix(path, "http.headers."); ok && !slices.Contains(contentHeaders, name) {
			path = forwardPrefix + name
		} else if ok {
			path = name
		}
	}
	return refuse(field.Code, path, field.Detail)
}
