package connect

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// retryNotice prints once that the command retries after a 503. Without the
// notice, the user would see nothing while it retries.
type retryNotice struct {
	next    http.RoundTripper
	notes   io.Writer
	refused atomic.Bool
	once    sync.Once
}

// RoundTrip implements http.RoundTripper.
func (r *retryNotice) RoundTrip(req *http.Request) (*http.Response, error) {
	if r.refused.Load() {
		r.once.Do(func() { fmt.Fprintln(r.notes, "foliot: the server answered 503; retrying") })
	}
	reply, err := r.next.RoundTrip(req)
	r.refused.Store(err == nil && reply.StatusCode == http.StatusServiceUnavailable)
	return reply, err
}
