package client

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/foliot/foliot/client/internal/conn"
	"github.com/foliot/foliot/client/internal/convert"
)

// Publication is a request to forward later: a POST to URL with that body and
// those headers.
type Publication struct {
	URL string
	// Header is forwarded, except for headers of the connection, Foliot-… and
	// webhook-…, and headers between the caller and the server: Authorization,
	// Cookie, Origin, Sec-…, Accept-Encoding, Idempotency-Key and Traceparent.
	// To send one of these to the receiver, put Foliot-Forward- before its
	// name.
	Header http.Header
	Body   []byte

	At    time.Time     // the due time; the zero time means that Delay sets it
	Delay time.Duration // counted from when the server accepts the task; if At and Delay are zero, the task is due at once
	Name  string        // default: the task's id
	Queue string        // default: "default"
	// MaxAttempts is the highest number of attempts. Default: the queue's, or the
	// server's. A publication cannot have Unlimited: the server refuses it.
	MaxAttempts Limit
}

// Publish creates the task that forwards p, with an Idempotency-Key of its own
// as in Create. Errors: those of Create. Options: Key.
func (ts Tasks) Publish(ctx context.Context, p Publication, opts ...CallOption) (*Task, error) {
	return ts.one(ctx, &conn.Call{
		Op: strings.TrimSpace("publish " + p.Name), Method: http.MethodPost, Path: "/publish", Query: conn.Params{"url": {p.URL}}, Header: p.header(), Body: p.Body, Raw: true,
		Takes: "Key", Options: keyed(opts), Repeatable: true,
	})
}

// forwardPrefix marks headers for the receiver, from which the server removes
// it.
const forwardPrefix = "Foliot-Forward-"

// contentHeaders are forwarded without the prefix.
var contentHeaders = []string{"Content-Type", "Content-Encoding", "Content-Language", "Content-Disposition", "Content-Digest"}

// ownHeaders and ownPrefixes belong to this request or to a connection.
var (
	ownHeaders = []string{
		"Authorization", "Cookie", "Origin", "Accept-Encoding", "Idempotency-Key", "Traceparent",
		"Host", "Te", "Content-Length", "Connection", "Transfer-Encoding", "Expect", "Upgrade", "Trailer", "Keep-Alive", "Proxy",
	}
	ownPrefixes = []string{"Foliot-", "Webhook-", "Proxy-", "Sec-"}
)

// header returns the headers to forward, and those that set the time, name and
// queue.
func (p Publication) header() http.Header {
	h := http.Header{}
	for name, values := range p.Header {
		name = http.CanonicalHeaderKey(name)
		switch {
		case slices.Contains(contentHeaders, name), strings.HasPrefix(name, forwardPrefix):
			h[name] = values
		case slices.Contains(ownHeaders, name), slices.ContainsFunc(ownPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }):
		default:
			h[forwardPrefix+name] = values
		}
	}
	set := func(name, value string) {
		if value != "" {
			h.Set(name, value)
		}
	}
	set("Foliot-At", convert.Instant(p.At))
	set("Foliot-Delay", convert.Duration(p.Delay))
	set("Foliot-Name", p.Name)
	set("Foliot-Queue", p.Queue)
	if p.MaxAttempts != 0 {
		set("Foliot-Retries", strconv.Itoa(int(p.MaxAttempts)-1))
	}
	return h
}
