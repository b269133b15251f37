package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/webhook"
)

const (
	userAgent  = "Foliot (+https://github.com/foliot/foliot)"
	timeLayout = "2006-01-02T15:04:05.000Z07:00"
)

// contentTypes are the default content types, for tasks without a Content-Type
// header of their own.
var contentTypes = map[task.BodyKind]string{
	task.TextBody:   "text/plain; charset=utf-8",
	task.JSONBody:   "application/json",
	task.BinaryBody: "application/octet-stream",
}

// target is where a task's request goes.
type target struct {
	address string // host:port, for the dial
	secure  bool   // TLS
	host    string // the Host header
	uri     string // the path and the query
	once    bool   // the connection must not be used again
}

// parseTarget returns the target of t.
func parseTarget(t *task.Task) (target, error) {
	if len(t.Request.Body) != t.Request.BodySize {
		return target{}, fmt.Errorf("build the request: only %d bytes of the body are loaded, of %d", len(t.Request.Body), t.Request.BodySize)
	}
	u, err := url.Parse(t.Request.URL)
	if err != nil {
		return target{}, fmt.Errorf("build the request: %w", err)
	}
	host, err := hostHeader(u)
	if err != nil {
		return target{}, fmt.Errorf("build the request: %w", err)
	}
	return target{
		address: task.Address(u),
		secure:  u.Scheme == "https",
		host:    host,
		uri:     task.RequestURI(u),
		once:    len(t.Request.Body) > 0 && slices.Contains(bodiless, t.Request.Method),
	}, nil
}

// hostHeader returns the host of u as the receiver gets it: in ASCII, and without
// a zone.
func hostHeader(u *url.URL) (string, error) {
	host := strings.TrimSuffix(u.Host, ":")
	if zone, end := strings.IndexByte(host, '%'), strings.LastIndexByte(host, ']'); zone >= 0 && end > zone {
		host = host[:zone] + host[end:]
	}
	host, err := httpguts.PunycodeHostPort(host)
	if err == nil && !httpguts.ValidHostHeader(host) {
		err = fmt.Errorf("the host %q is not valid", host)
	}
	return host, err
}

// bodiless are the methods for which some receivers do not read the body. Such a
// receiver takes the body for the next request on the connection, and its reply
// to the body would be read as the reply to that request. So these connections
// are not used again.
var bodiless = []string{http.MethodGet, http.MethodHead, http.MethodDelete, http.MethodOptions}

// lines are the lines of a request before its body.
type lines struct {
	text []byte
	err  error // a header must not be sent
}

// add appends a header. Headers were checked when the task was created, but are
// checked again, because a line break in one would begin another request.
func (l *lines) add(name, value string) {
	if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
		l.err = fmt.Errorf("build the request: the header %q is not valid", name)
	}
	l.text = append(append(l.text, name...), ": "...)
	l.text = append(append(l.text, value...), "\r\n"...)
}

// appendRequest appends the lines of the request that is sent to t at now. A
// task cannot override Foliot's headers, except the first three.
func (s *Sender) appendRequest(b []byte, x *exchange, t target, now time.Time) ([]byte, error) {
	r := &x.Task.Request
	b = append(append(b, r.Method...), ' ')
	l := lines{text: append(append(b, t.uri...), " HTTP/1.1\r\n"...)}
	if !httpguts.ValidHeaderFieldName(r.Method) { // both are tokens
		l.err = fmt.Errorf("build the request: the method %q is not valid", r.Method)
	}
	l.add("Host", t.host)
	if size := len(r.Body); size > 0 || !slices.Contains(bodiless, r.Method) {
		l.add("Content-Length", strconv.Itoa(size))
	}
	if t.once {
		l.add("Connection", "close")
	}
	defaults := [...]struct{ name, value string }{
		{"User-Agent", userAgent},
		{"Traceparent", x.trace},
		{"Content-Type", contentTypes[r.BodyKind]},
	}
	for name, value := range r.Headers {
		if task.ForbiddenHeader(name) { // a record may be older than the list of forbidden headers
			continue
		}
		for i := range defaults {
			if strings.EqualFold(name, defaults[i].name) {
				defaults[i].value = ""
			}
		}
		l.add(http.CanonicalHeaderKey(name), value)
	}
	for _, d := range defaults {
		if d.value != "" {
			l.add(d.name, d.value)
		}
	}
	s.addOurs(&l, x.Delivery, now)
	return append(l.text, "\r\n"...), l.err
}

// addOurs adds the headers that no task can override.
func (s *Sender) addOurs(l *lines, d task.Delivery, now time.Time) {
	t := d.Task
	l.add(webhook.HeaderID, t.ID)
	l.add(webhook.HeaderTimestamp, strconv.FormatInt(now.Unix(), 10))
	var secrets []string
	if s.cfg.Secrets != nil {
		secrets = s.cfg.Secrets(t.Namespace, t.Queue)
	}
	if len(secrets) > 0 {
		signature, err := webhook.Sign(secrets, t.ID, now, t.Request.Body)
		if err != nil {
			l.err = fmt.Errorf("sign the request: %w", err)
			return
		}
		l.add(webhook.HeaderSignature, signature)
	}
	l.add(webhook.HeaderTask, t.Name)
	l.add(webhook.HeaderQueue, t.Queue)
	l.add(webhook.HeaderDueAt, t.OriginalDue.Time().Format(timeLayout))
	if schedule, instant, ok := task.OccurrenceOf(t.Name); ok {
		l.add(webhook.HeaderSchedule, schedule)
		if instant != 0 {
			l.add(webhook.HeaderInstant, instant.Time().Format(timeLayout))
		}
	}
	l.add(webhook.HeaderAttempt, strconv.Itoa(d.Number))
	l.add(webhook.HeaderMaxAttempts, strconv.Itoa(t.Retry.MaxAttempts))
}

// parentOf returns the traceparent of an attempt without a tracer: the one with
// which the task was created, or else one trace for all attempts of the task, and a
// span for each. Such a trace is marked as sampled, because the usual sampler follows
// its parent, and would otherwise drop the receiver's own spans.
func parentOf(d task.Delivery) string {
	if d.Task.Trace != "" {
		return d.Task.Trace
	}
	var room [128]byte
	seed := append(room[:0], d.Task.ID...)
	trace := sha256.Sum256(seed)
	seed = strconv.AppendInt(append(seed, '/'), int64(d.Number), 10)
	span := sha256.Sum256(seed)

	var text [len("00-") + 2*16 + len("-") + 2*8 + len("-01")]byte
	b := append(text[:0], "00-"...)
	b = hex.AppendEncode(b, trace[:16])
	b = hex.AppendEncode(append(b, '-'), span[:8])
	return string(append(b, "-01"...))
}
