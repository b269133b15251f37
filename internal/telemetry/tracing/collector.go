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
	uploadTimeout  = 30 * time.Second // of a batch, its repeats included
	firstRepeat    = time.Second      // then twice as long each time
	maxRefusal     = 64 << 10         // of a reply that is read, so that the connection can be used again
)

// collector sends batches to an OpenTelemetry collector: OTLP over HTTP, as
// protobuf. The exporter that OpenTelemetry has for this links gRPC, although it
// does not speak it: 4 MB of the binary.
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
		// Whoever redirects would be sent the headers, with what is secret in them.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// close makes an upload under way, and all later ones, fail at once.
func (c *collector) close() {
	c.end()
	c.client.CloseIdleConnections()
}

// Start and Stop implement otlptrace.Client.
func (c *collector) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *collector) Stop(context.Context) error { return nil }

// UploadTraces sends one batch, and repeats it while the collector says that
// this may help. It fails at once after close.
func (c *collector) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// The same bytes as an ExportTraceServiceRequest, whose package links gRPC.
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

// refusal says whether a failed batch may be sent again, and when.
type refusal struct {
	final bool
	wait  time.Duration // as the collector says
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
	err = fmt.Errorf("the collector at %s answered %d", r.URL.Host, reply.StatusCode)
	switch reply.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(reply.Header.Get("Retry-After")) // of a date it makes 0: our own wait
		return refusal{wait: time.Duration(min(max(seconds, 0), 60)) * time.Second}, err
	}
	return refusal{final: true}, err
}

// unreached shortens what net/http says: the URL is known, the cause is not.
func (c *collector) unreached(err error) error {
	if u := new(url.Error); errors.As(err, &u) {
		err = u.Err
	}
	return fmt.Errorf("reach the collector: %w", err)
}
