package foliot

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"

	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/outgoing"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/webhook"
)

// HTTP is the kind of the tasks that send a request: HTTP.Put(ctx, node, name,
// In(time.Hour), Request{URL: url}) calls the URL in an hour. It has no handler:
// a program with Options.URLs sends the requests, which wait until one does. On a
// Redis, all processes that call Run must have Options.URLs: each runs only the
// tasks that it owns.
var HTTP Kind[Request]

// Request is the HTTP request of a task.
type Request struct {
	// URL begins with http:// or https://.
	URL string
	// Method is GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS. Default: POST.
	Method string
	// Headers are sent as they are, but those of the connection, Foliot-… and
	// webhook-… are refused.
	Headers map[string]string
	// JSON is encoded as the body, while Body is sent as it is, by default with
	// the Content-Type application/octet-stream. At most one of them can be set.
	JSON any
	Body []byte
}

// URLSender is a result of URLs.
type URLSender struct {
	wrong error // of the arguments of URLs
	// open is a closure, so that only programs that call URLs link the sender.
	open func(context.Context, *engine.Node) requestSender
}

// requestSender is an *outgoing.Sender.
type requestSender interface {
	Deliver(context.Context, task.Delivery) task.Outcome
	Run(context.Context)
	Close()
}

// URLs is the value of Options.URLs with which Run sends the requests of tasks
// that have a URL, as `foliot serve` does: up to 1024 at once, signed with the
// secrets of their queue, each receiver behind a circuit breaker. It sends those
// of all namespaces of the store. A reply of 2xx delivers the task, and 410, or a
// header Foliot-No-Retry: true, makes it dead. 429 and 503 with Retry-After delay
// it without using an attempt. After anything else it is retried, as after an
// error of a handler, but a task with a refused address is dead at once.
//
// Requests reach the public internet only. Each argument opens more addresses:
// "10.0.0.0/8" a private network, "127.0.0.0/8" programs of this machine, also
// this program. Nothing opens the metadata service of a cloud, and the store. If
// an argument is no prefix and no address, Open returns an error.
func URLs(allow ...string) *URLSender {
	prefixes, err := webhook.ParsePrefixes(allow)
	if err != nil {
		return &URLSender{wrong: fmt.Errorf("foliot: an argument of URLs is wrong: %w", err)}
	}
	cfg := webhook.Config{Opener: "foliot.URLs", Allow: prefixes}
	return &URLSender{open: func(ctx context.Context, n *engine.Node) requestSender { return outgoing.New(ctx, n, cfg, nil) }}
}

// task returns a copy of the request as the store keeps it.
func (r Request) task() (task.Request, error) {
	q := task.Request{URL: r.URL, Method: cmp.Or(r.Method, http.MethodPost), Headers: maps.Clone(r.Headers), Body: bytes.Clone(r.Body)}
	switch {
	case r.JSON != nil && len(r.Body) > 0:
		return q, invalid("the request has both JSON and Body: set one of them")
	case r.JSON != nil:
		var err error
		if q.Body, err = json.Marshal(r.JSON); err != nil {
			return q, invalid("cannot encode the body as JSON: %v", err)
		}
		q.BodyKind = task.JSONBody
	case len(r.Body) > 0:
		q.BodyKind = task.BinaryBody
	}
	if q.BodySize = len(q.Body); q.BodySize > task.MaxBody {
		return q, invalid("the body has %d bytes, but may have at most %d", q.BodySize, task.MaxBody)
	}
	return q, nil
}
