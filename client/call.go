package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/foliot/foliot/client/internal/conn"
	"github.com/foliot/foliot/client/internal/convert"
	"github.com/foliot/foliot/internal/wire"
)

const (
	// maxReply bounds the bytes read of a reply. The longest is a page of tasks
	// with bodies: 8 MiB, which JSON may make six times as long.
	maxReply = 64 << 20
	// maxProblem bounds the bytes read of an error reply.
	maxProblem = 1 << 20
)

// connection sends calls to one server. Only its coalescer changes after New.
type connection struct {
	base    string // without a slash at its end
	header  http.Header
	http    http.Client
	owned   bool // New created the transport
	timeout time.Duration
	retry   RetryPolicy

	batching bool // calls that are made at once go out together
	calls    coalescer
}

// Do implements conn.Conn.
func (cn *connection) Do(ctx context.Context, c *conn.Call) (got conn.Reply, err error) {
	if err := valid(c); err != nil {
		return got, err
	}
	if c.Send != nil {
		if c.Body, err = convert.Marshal(c.Send); err != nil {
			return got, err
		}
	}
	p := newPending(c)
	send := cn.calls.send
	if c.Batch == "" || !cn.batching {
		send = func(ctx context.Context, _ []*pending) { got, p.err = cn.try(ctx, c) }
	}
	cn.repeat(ctx, []*pending{p}, send)
	return got, p.err
}

// try sends c once and decodes the reply.
func (cn *connection) try(ctx context.Context, c *conn.Call) (got conn.Reply, err error) {
	ctx, cancel := context.WithTimeout(ctx, cn.timeout+c.Extra)
	defer cancel()
	resp, err := cn.Open(ctx, c)
	if err != nil {
		return got, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	if err != nil {
		return got, cn.noReply(c, err, true)
	}
	if len(data) > maxReply {
		return got, cn.foreign(c, resp, errors.New("the reply is longer than 64 MiB"))
	}
	if into, ok := c.Into.(json.Unmarshaler); ok { // json.Unmarshal would read the reply twice
		err = into.UnmarshalJSON(data)
	} else {
		err = json.Unmarshal(data, c.Into)
	}
	if err != nil {
		return got, cn.foreign(c, resp, err)
	}
	return conn.Reply{Status: resp.StatusCode, Header: resp.Header}, nil
}

// Open implements conn.Conn.
func (cn *connection) Open(ctx context.Context, c *conn.Call) (*http.Response, error) {
	req, err := cn.request(ctx, c)
	if err != nil {
		return nil, err
	}
	// The error may be that of a repeat by net/http, or the cause of the context, such
	// as the error of another call. Neither shows that this request was not sent.
	repeated := false
	if body := req.GetBody; body != nil {
		req.GetBody = func() (io.ReadCloser, error) { repeated = true; return body() }
	}
	resp, err := cn.http.Do(req)
	if err != nil {
		return nil, cn.noReply(c, err, repeated || ctx.Err() != nil)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		defer resp.Body.Close()
		return nil, cn.refused(c, resp)
	}
	return resp, nil
}

func (cn *connection) request(ctx context.Context, c *conn.Call) (*http.Request, error) {
	target := cn.base + wire.Version + c.Path
	query := url.Values(c.Query)
	for _, o := range c.Options {
		if o.Param != "" {
			if query == nil {
				query = url.Values{}
			}
			query.Set(o.Param, o.Value)
		}
	}
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	var body io.Reader
	if c.Body != nil {
		body = bytes.NewReader(c.Body)
	}
	req, err := http.NewRequestWithContext(ctx, c.Method, target, body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Op, err)
	}
	maps.Copy(req.Header, cn.header)
	if c.Body != nil && !c.Raw {
		req.Header.Set("Content-Type", "application/json")
	}
	maps.Copy(req.Header, c.Header)
	for _, o := range c.Options {
		if o.Header != "" {
			req.Header.Set(o.Header, o.Value)
		}
	}
	return req, nil
}

// NoReply implements conn.Conn.
func (cn *connection) NoReply(c *conn.Call, err error) error { return cn.noReply(c, err, false) }

// noReply is NoReply for a request that may have been sent, whatever err shows.
func (cn *connection) noReply(c *conn.Call, err error, sent bool) error {
	if about, ok := errors.AsType[*url.Error](err); ok {
		err = about.Err // the outer error repeats the URL with its query
	}
	err = scheme(err)
	return &TransportError{Op: c.Op, Server: cn.base, Err: err, MaybeApplied: sent || !unsent(err)}
}

func (cn *connection) refused(c *conn.Call, resp *http.Response) error {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	if err != nil {
		return cn.noReply(c, err, true)
	}
	if wantsTLS(resp, data) {
		return cn.NoReply(c, ErrSpeaksTLS)
	}
	var p wire.Problem
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media != wire.ProblemType || json.Unmarshal(data, &p) != nil || p.Code == "" {
		return cn.foreign(c, resp, nil)
	}
	p.Status = resp.StatusCode
	return refusal(c, p, retryAfter(resp.Header, time.Now()))
}

// refusal returns the error of a call that the server refused.
func refusal(c *conn.Call, p wire.Problem, retryAfter time.Duration) error {
	e := &Error{
		Op: c.Op, Status: p.Status, Code: p.Code, Field: p.Field, Detail: strings.TrimPrefix(cmp.Or(p.Detail, p.Title), p.Field+": "),
		ID: p.ID, State: State(p.State), Suggestion: p.Suggestion, Kind: p.Kind, Name: p.Name, Allowed: p.Allowed, RetryAfter: retryAfter,
	}
	if p.Count != nil {
		e.Count = *p.Count
	}
	e.MaybeApplied = e.Status >= http.StatusInternalServerError && !errors.Is(e, ErrFull) && e.Code != "store_unfit"
	return e
}

// foreign returns the error for a reply that did not come from a Foliot server:
// a proxy or another program sent it.
func (cn *connection) foreign(c *conn.Call, resp *http.Response, why error) error {
	detail := cn.base + " replied " + resp.Status
	switch {
	case why != nil:
		detail += " with an invalid body (" + why.Error() + ")"
	case resp.StatusCode < http.StatusBadRequest:
		detail += ", and redirects are not followed"
	default:
		detail += " without a Foliot error"
	}
	done := resp.StatusCode < http.StatusMultipleChoices || resp.StatusCode >= http.StatusInternalServerError
	return &Error{
		Op: c.Op, Status: resp.StatusCode, Detail: detail + ": is it a Foliot server?",
		RetryAfter: retryAfter(resp.Header, time.Now()), MaybeApplied: done,
	}
}

// retryAfter returns the delay that the server asks for, 0 if it asks for none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	if s, err := strconv.ParseInt(value, 10, 64); err == nil {
		return time.Duration(min(max(s, 0), 1<<31)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// valid returns an error if the name in c.Op is not valid, or an option of c.
func valid(c *conn.Call) error {
	if c.Path == "" {
		return refused(c.Op, "bad_name", "name", "a name has 1 to 256 characters and begins with a letter or digit")
	}
	if unknown := c.Unknown(); unknown != "" {
		return refused(c.Op, "bad_option", unknown, "the call does not take this option: it takes "+cmp.Or(strings.ReplaceAll(c.Takes, " ", ", "), "none"))
	}
	if slices.Contains(c.Options, Key("").option) {
		return refused(c.Op, "bad_option", "Key", "the key is empty, but it must have 1 to 256 printable ASCII characters")
	}
	return nil
}
