package tracing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

const (
	requestTimeout = 10 * time.Second // of one request to the collector
	uploadTimeout  = 30 * time.Second // of a batch, including its repeats
	firstRepeat    = time.Second      // doubled each time
	maxRefusal     = 64 << 10         // the part of a reply that is read, so that the connection can be used again
)

// collector sends batches to an OpenTelemetry collector: OTLP over HTTP, as
// protobuf. OpenTelemetry's own exporter for this links gRPC without using it,
// which adds 4 MB to the binary.
type collector struct {
	target  string
	headers map[string]string
	client  *http.Client
	ended   context.Context
	end     context.CancelFunc
}

func newCollector(target string, headers map[string]string) *collector {
	c := &collector{target: target, headers: headers}
	c.ended, c.end = context.WithCancel(context.Background())
	c.client = &http.Client{
		Transport: &http.Transport{MaxIdleConns: 1, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true},
		Timeout:   requestTimeout,
		// After a redirect, another server would get the headers with their
		// secrets.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// close makes the present upload and all later ones fail at once.
func (c *collector) close() {
	c.end()
	c.client.CloseIdleConnections()
}

// Start and Stop implement otlptrace.Client, and do nothing.
func (c *collector) Start(context.Context) error { return nil }

func (c *collector) Stop(context.Context) error { return nil }

// UploadTraces sends one batch, repeats it while the collector's replies allow
// this, and fails at once after close.
func (c *collector) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// The bytes equal those of an ExportTraceServiceRequest, but that package
	// links gRPC.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return fmt.Errorf("encode spans: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, uploadTimeout)
	defer cancel()
	defer context.AfterFunc(c.ended, cancel)()
	for wait := firstRepeat; ; wait *= 2 {
		refused, err := c.send(ctx, body)
		if err == nil || refused.final {
			return err
		}
		select {
		case <-time.After(max(wait, refused.wait)):
		case <-ctx.Done():
			return err
		}
	}
}

// refusal reports whether a failed batch may be sent again, and when.
type refusal struct {
	final bool
	wait  time.Duration // the collector's Retry-After
}

func (c *collector) send(ctx context.Context, body []byte) (refusal, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.target, bytes.NewReader(body))
	if err != nil {
		return refusal{final: true}, err
	}
	for name, value := range c.headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	reply, err := c.client.Do(r)
	if err != nil {
		return refusal{}, c.unreached(err)
	}
	defer reply.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(reply.Body, maxRefusal))
	if reply.StatusCode/100 == 2 {
		return refusal{}, nil
	}
	err = fmt.Errorf("the collector at %s replied %d", r.URL.Host, reply.StatusCode)
	switch reply.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(reply.Header.Get("Retry-After")) // 0 for a date: our own wait applies
		return refusal{wait: time.Duration(min(max(seconds, 0), 60)) * time.Second}, err
	}
	return refusal{final: true}, err
}

// unreached shortens net/http's error to its cause, without the URL.
func (c *collector) unreached(err error) error {
	if u := new(url.Error); errors.As(err, &u) {
		err = u.Err
	}
	return fmt.Errorf("reach the collector: %w", err)
}
