package webhook

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/foliot/foliot/internal/task"
)

const (
	userAgent  = "Foliot (+https://github.com/foliot/foliot)"
	timeLayout = "2006-01-02T15:04:05.000Z07:00"
)

// contentTypes are what a body is sent as unless the task's own header says.
var contentTypes = map[task.BodyKind]string{
	task.TextBody:   "text/plain; charset=utf-8",
	task.JSONBody:   "application/json",
	task.BinaryBody: "application/octet-stream",
}

// newRequest returns the request of a delivery, as it is written at now.
func newRequest(ctx context.Context, d task.Delivery, now time.Time) (*http.Request, error) {
	t := d.Task
	if len(t.Request.Body) != t.Request.BodySize {
		return nil, fmt.Errorf("build the request: %d bytes of the body are at hand, it has %d", len(t.Request.Body), t.Request.BodySize)
	}
	r, err := http.NewRequestWithContext(ctx, t.Request.Method, t.Request.URL, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("build the request: %w", err)
	}
	if len(t.Request.Body) > 0 {
		// Without GetBody, which NewRequest would have set: what cannot be read
		// again is not sent again. (See gate for requests without a body.)
		r.Body = io.NopCloser(bytes.NewReader(t.Request.Body))
		r.ContentLength = int64(len(t.Request.Body))
	}
	setHeaders(r.Header, d, now)
	return r, nil
}

// setHeaders writes the task's headers and then Foliot's, which nothing can override.
func setHeaders(h http.Header, d task.Delivery, now time.Time) {
	t := d.Task
	h.Set("User-Agent", userAgent)
	h.Set("Traceparent", traceparent(t.ID, d.Number))
	if kind, ok := contentTypes[t.Request.BodyKind]; ok {
		h.Set("Content-Type", kind)
	}
	for name, value := range t.Request.Headers {
		if !task.ForbiddenHeader(name) { // a record may be older than the list
			h.Set(name, value)
		}
	}
	h.Set("Webhook-Id", t.ID)
	h.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
	h.Set("Foliot-Task", t.Name)
	h.Set("Foliot-Queue", t.Queue)
	h.Set("Foliot-Due-At", t.OriginalDue.Time().Format(timeLayout))
	h.Set("Foliot-Attempt", strconv.Itoa(d.Number))
	h.Set("Foliot-Max-Attempts", strconv.Itoa(t.Retry.MaxAttempts))
}

// traceparent returns a W3C trace context: one trace for all attempts of a
// task, a span for each. It is marked as sampled, because the usual sampler
// follows its parent: unmarked, the receiver's own spans would vanish.
func traceparent(id string, number int) string {
	trace := sha256.Sum256([]byte(id))
	span := sha256.Sum256([]byte(id + "/" + strconv.Itoa(number)))
	return "00-" + hex.EncodeToString(trace[:16]) + "-" + hex.EncodeToString(span[:8]) + "-01"
}
