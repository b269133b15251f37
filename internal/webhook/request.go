package webhook

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/foliot/foliot/internal/task"
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

// newRequest returns the signed request of a delivery, sent at now, with trace
// as its traceparent. It sets g's address.
func (s *Sender) newRequest(g *sendGuard, d task.Delivery, now time.Time, trace string) (*http.Request, error) {
	t := d.Task
	if len(t.Request.Body) != t.Request.BodySize {
		return nil, fmt.Errorf("build the request: only %d bytes of the body are loaded, of %d", len(t.Request.Body), t.Request.BodySize)
	}
	r, err := http.NewRequestWithContext(g.watching(), t.Request.Method, t.Request.URL, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("build the request: %w", err)
	}
	g.address = task.Address(r.URL)
	r.URL.Host = pool(t.Namespace, g.address) // r.Host stays as in the URL
	if len(t.Request.Body) > 0 {
		// NewRequest would set GetBody. Without it, net/http cannot read the
		// body again, so it cannot send the request again. (See sendGuard for
		// requests without a body.)
		r.Body = io.NopCloser(bytes.NewReader(t.Request.Body))
		r.ContentLength = int64(len(t.Request.Body))
		r.Close = slices.Contains(bodiless, r.Method)
	}
	var signature string
	if s.secrets != nil {
		signature = Sign(s.secrets(t.Namespace, t.Queue), t.ID, now, t.Request.Body)
	}
	r.Header = headers(d, now, trace, signature)
	return r, nil
}

// bodiless are the methods for which some receivers do not read the body. Such
// a receiver takes the body for the next request on the connection, and its
// reply for the reply to that request. So these connections are not used again.
var bodiless = []string{http.MethodGet, http.MethodHead, http.MethodDelete, http.MethodOptions}

// pool returns the name of a namespace's connections to an address. net/http
// keeps connections by host, and this name takes the place of the host.
// Requests of two namespaces must not share a connection: if a receiver
// misreads where a request ends, the rest becomes the beginning of the other
// namespace's request. The limits of the transport apply to all pools together.
func pool(namespace, address string) string {
	b := make([]byte, 0, 2*(len(namespace)+len(address))+1)
	b = hex.AppendEncode(b, []byte(namespace))
	b = hex.AppendEncode(append(b, '.'), []byte(address))
	return string(b)
}

// headers returns the task's headers and Foliot's. A task cannot override
// Foliot's.
func headers(d task.Delivery, now time.Time, trace, signature string) http.Header {
	t := d.Task
	ours := 11
	schedule, instant, scheduled := task.OccurrenceOf(t.Name)
	if scheduled {
		ours += 2
	}
	h := make(http.Header, ours+len(t.Request.Headers))
	values := make([]string, 0, ours+len(t.Request.Headers)) // one array for all values: Header.Set would allocate one for each
	set := func(name, value string) {
		values = append(values, value)
		h[name] = values[len(values)-1 : len(values) : len(values)]
	}
	set("User-Agent", userAgent)
	set("Traceparent", trace)
	if kind, ok := contentTypes[t.Request.BodyKind]; ok {
		set("Content-Type", kind)
	}
	for name, value := range t.Request.Headers {
		if !task.ForbiddenHeader(name) { // a record may be older than the list of forbidden headers
			set(http.CanonicalHeaderKey(name), value)
		}
	}
	set(HeaderID, t.ID)
	set(HeaderTimestamp, strconv.FormatInt(now.Unix(), 10))
	if signature != "" {
		set(HeaderSignature, signature)
	}
	set("Foliot-Task", t.Name)
	set("Foliot-Queue", t.Queue)
	set("Foliot-Due-At", t.OriginalDue.Time().Format(timeLayout))
	if scheduled {
		set("Foliot-Schedule", schedule)
		if instant != 0 {
			set("Foliot-Instant", instant.Time().Format(timeLayout))
		}
	}
	set("Foliot-Attempt", strconv.Itoa(d.Number))
	set("Foliot-Max-Attempts", strconv.Itoa(t.Retry.MaxAttempts))
	return h
}

// parentOf returns the traceparent of an attempt without a tracer: the one with
// which the task was created, or one that stands for the task.
func parentOf(d task.Delivery) string {
	if d.Task.Trace != "" {
		return d.Task.Trace
	}
	return traceparent(d.Task.ID, d.Number)
}

// traceparent returns a W3C trace context: one trace for all attempts of a
// task, and a span for each. It is marked as sampled, because the usual sampler
// follows its parent: without the mark the receiver's own spans would be
// dropped.
func traceparent(id string, number int) string {
	var room [128]byte
	seed := append(room[:0], id...)
	trace := sha256.Sum256(seed)
	seed = strconv.AppendInt(append(seed, '/'), int64(number), 10)
	span := sha256.Sum256(seed)

	var text [len("00-") + 2*16 + len("-") + 2*8 + len("-01")]byte
	b := append(text[:0], "00-"...)
	b = hex.AppendEncode(b, trace[:16])
	b = hex.AppendEncode(append(b, '-'), span[:8])
	return string(append(b, "-01"...))
}
