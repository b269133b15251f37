package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

const (
	// maxWait is how long one request asks the server to wait for a task's end.
	maxWait = 30 * time.Second
	// answerTimeout bounds every request beside that wait: a server that syncs
	// a thousand tasks to a slow disk needs some.
	answerTimeout = 60 * time.Second
	// bulkTimeout is what a change of very many tasks may take beside that.
	bulkTimeout = 30 * time.Minute
	// maxReply bounds what is read of a reply. A page of bodies is the longest:
	// 8 MiB of them, which JSON may write six times as long.
	maxReply = 64 << 20
)

// client speaks version 1 of the API to one server. It may be used by many
// goroutines; close releases its connections.
type client struct {
	base *url.URL
	http *http.Client
}

// newClient returns a client of the server at the URL that --server names.
func newClient(server string) (*client, error) {
	base, err := url.Parse(server)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, badInput("--server", "%q is no URL of a server; it looks like http://127.0.0.1:8750", server)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64 // import and scripts keep several requests going
	return &client{base: base, http: &http.Client{
		Transport: transport,
		// The API redirects nobody: whoever does is another server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

func (c *client) close() { c.http.CloseIdleConnections() }

// create makes a task.
func (c *client) create(ctx context.Context, in wire.TaskInput) (wire.Task, error) {
	var t wire.Task
	raw, err := encodeTask(in)
	if err == nil {
		_, err = c.do(ctx, request{method: http.MethodPost, path: "/tasks", raw: raw, into: &t})
	}
	return t, opError("add", in.Name, err)
}

// encodeTask returns in as JSON, with its body byte for byte as it was given:
// encoding/json would take the spaces out of it.
func encodeTask(in wire.TaskInput) ([]byte, error) {
	body := in.HTTP.Body
	in.HTTP.Body = nil
	whole, err := json.Marshal(in)
	if err != nil || body == nil {
		return whole, err
	}
	request, err := json.Marshal(in.HTTP)
	if err != nil {
		return nil, err
	}
	// No string can contain this: its quotes would be escaped.
	head := append([]byte(`"http":`), request[:len(request)-1]...)
	before, after, found := bytes.Cut(whole, head)
	if !found {
		return nil, errors.New("encode the task: the request is not where it should be")
	}
	return slices.Concat(before, head, []byte(`,"body":`), body, after), nil
}

// batch creates tasks from raw objects, each by itself, in order.
func (c *client) batch(ctx context.Context, body []byte) (wire.BatchReply, error) {
	var reply wire.BatchReply
	_, err := c.do(ctx, request{method: http.MethodPost, path: "/tasks/batch", raw: body, into: &reply})
	return reply, opError("import", "", err)
}

// get returns a task; with wait it returns when the task is finished or dead,
// or after that time.
func (c *client) get(ctx context.Context, name string, wait time.Duration) (wire.Task, error) {
	query := url.Values{}
	if wait > 0 {
		query.Set("wait", wait.String())
	}
	var t wire.Task
	_, err := c.do(ctx, request{method: http.MethodGet, path: taskPath(name), query: query, extra: wait, into: &t})
	return t, opError("get", name, err)
}

// list returns one page.
func (c *client) list(ctx context.Context, query url.Values) (wire.TaskList, error) {
	var page wire.TaskList
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/tasks", query: query, into: &page})
	return page, opError("list tasks", "", err)
}

// patch changes the fields that body names.
func (c *client) patch(ctx context.Context, name string, body any) (wire.Task, error) {
	var t wire.Task
	_, err := c.do(ctx, request{method: http.MethodPatch, path: taskPath(name), body: body, into: &t})
	return t, opError("move", name, err)
}

// cancel takes a task back. Accepted says that an attempt is under way or may
// be: it is the last one.
func (c *client) cancel(ctx context.Context, name string) (t wire.Task, accepted bool, err error) {
	status, err := c.do(ctx, request{method: http.MethodDelete, path: taskPath(name), into: &t})
	return t, status == http.StatusAccepted, opError("cancel", name, err)
}

// act does what the last element of the path says: touch, run or retry.
func (c *client) act(ctx context.Context, name, verb string) (wire.Task, error) {
	var t wire.Task
	_, err := c.do(ctx, request{method: http.MethodPost, path: taskPath(name) + "/" + verb, into: &t})
	return t, opError(verb, name, err)
}

// bulk cancels or retries what a filter chooses.
func (c *client) bulk(ctx context.Context, verb string, filter url.Values) (wire.BulkReply, error) {
	var reply wire.BulkReply
	_, err := c.do(ctx, request{method: http.MethodPost, path: "/tasks/" + verb, query: filter, extra: bulkTimeout, into: &reply})
	return reply, opError(verb+" tasks", "", err)
}

func taskPath(name string) string { return "/tasks/" + url.PathEscape(name) }

// opError puts before err what was tried, and on which task.
func opError(op, name string, err error) error {
	switch {
	case err == nil:
		return nil
	case name == "":
		return fmt.Errorf("%s: %w", op, err)
	}
	return fmt.Errorf("%s %s: %w", op, name, err)
}

// request is one call of the API.
type request struct {
	method string
	path   string // below the version
	query  url.Values
	body   any    // sent as JSON, unless raw is
	raw    []byte // sent as it is
	extra  time.Duration
	into   any
}

// do sends r and decodes the reply into r.into. It returns the status of a
// success. Errors: *problemError, or a fault with exitUnreachable.
func (c *client) do(ctx context.Context, r request) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout+r.extra)
	defer cancel()
	req, err := c.build(ctx, r)
	if err != nil {
		return 0, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, c.unreachable(ctx, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil {
		return 0, c.unreachable(ctx, err)
	}
	if resp.StatusCode >= 300 {
		return 0, c.problem(resp, data)
	}
	if err := json.Unmarshal(data, r.into); err != nil {
		return 0, fmt.Errorf("%s answered %s with something else than a Foliot reply (%w): is it a Foliot server?", c.base, resp.Status, err)
	}
	return resp.StatusCode, nil
}

func (c *client) build(ctx context.Context, r request) (*http.Request, error) {
	raw := r.raw
	if r.body != nil {
		var buf bytes.Buffer
		if err := writeJSON(&buf, r.body); err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		raw = buf.Bytes()
	}
	target := c.base.JoinPath(wire.Version, r.path)
	target.RawQuery = r.query.Encode()
	var body io.Reader
	if raw != nil {
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target.String(), body)
	if err != nil {
		return nil, err
	}
	if raw != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("User-Agent", "foliot/"+version())
	return req, nil
}

// unreachable says that no answer came, in words that help.
func (c *client) unreachable(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return context.Canceled
	}
	return &fault{exitUnreachable, fmt.Errorf("no answer from %s (%s): is `foliot serve` running there? --server or FOLIOT_SERVER names another", c.base.Redacted(), cause(err))}
}

// cause returns the last words of a network error: "connection refused".
func cause(err error) string {
	var op *net.OpError
	var dns *net.DNSError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "timed out"
	case errors.As(err, &dns):
		return dns.Err
	case errors.As(err, &op):
		return strings.TrimPrefix(op.Err.Error(), "connect: ")
	}
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err.Error()
	}
	return err.Error()
}

// The codes of problems that commands tell apart.
const (
	codeNotFound = "not_found"
	codeExists   = "exists"
)

// problemError is the server's refusal of a request.
type problemError struct{ wire.Problem }

// Error returns the server's sentence, behind the field it is about.
func (p *problemError) Error() string {
	if p.Field == "" {
		return p.sentence()
	}
	return p.Field + ": " + p.sentence()
}

// sentence returns what is wrong without the name of the field.
func (p *problemError) sentence() string {
	if p.Detail == "" {
		return p.Title
	}
	return strings.TrimPrefix(p.Detail, p.Field+": ")
}

func (c *client) problem(resp *http.Response, data []byte) error {
	var p problemError
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media != wire.ProblemType || json.Unmarshal(data, &p.Problem) != nil {
		return fmt.Errorf("%s answered %s without a problem of Foliot's: is it a Foliot server?", c.base.Redacted(), resp.Status)
	}
	p.Status = resp.StatusCode
	return &p
}
