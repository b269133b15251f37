package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

const (
	// maxReply bounds the bytes read of a reply. The longest is a page of tasks
	// with bodies: 8 MiB, which JSON may make six times as long.
	maxReply = 64 << 20
	// maxProblem bounds the bytes read of an error reply.
	maxProblem = 1 << 20
)

// conn sends calls to one server, and does not change after New.
type conn struct {
	base    string // without a slash at its end
	header  http.Header
	http    http.Client
	owned   bool // New created the transport
	timeout time.Duration
	retry   RetryPolicy
}

// call is one use of one route.
type call struct {
	op     string // verb and name, for errors
	method string
	path   string // below the version, escaped
	query  params
	header http.Header
	send   any    // becomes the body, as JSON; nil: body is set, or there is none
	body   []byte // nil: none
	raw    bool   // the body is not JSON

	repeatable bool          // may be applied twice without harm
	extra      time.Duration // added to the client's Timeout
	into       any           // target of the decoded reply
}

type answer struct {
	status int
	header http.Header
}

// named sends a call about the object with that name, and returns the reply. It
// completes the call's op, and puts the name before its path. It refuses names
// that a server would read as a part of the path.
func named[T any](ctx context.Context, cn *conn, verb, path, name string, c *call) (reply *T, got answer, err error) {
	reply = new(T)
	c.op, c.path, c.into = verb+" "+name, path+url.PathEscape(name)+c.path, reply
	if name == "" || name == "." || name == ".." {
		return nil, got, refused(c.op, "bad_name", "name", "a name has 1 to 256 characters and begins with a letter or digit")
	}
	if got, err = cn.do(ctx, c); err != nil {
		return nil, got, err
	}
	return reply, got, nil
}

// do sends c, repeats it if that is allowed, and decodes the reply.
func (cn *conn) do(ctx context.Context, c *call) (got answer, err error) {
	if c.send != nil {
		if c.body, err = marshal(c.send); err != nil {
			return got, err
		}
	}
	began, maybeApplied := time.Now(), false // by an earlier attempt
	for try := 1; ; try++ {
		got, err = cn.try(ctx, c)
		if err == nil {
			return got, nil
		}
		maybeApplied = maybeApplied || MaybeApplied(err)
		pause, again := cn.retry.next(try, time.Since(began), c.repeatable, err)
		if !again || ctx.Err() != nil {
			return got, withMaybeApplied(err, maybeApplied)
		}
		if ended := sleep(ctx, pause); ended != nil {
			return got, withMaybeApplied(fmt.Errorf("%w (%w while waiting to repeat it)", err, ended), maybeApplied)
		}
	}
}

// try sends c once and decodes the reply.
func (cn *conn) try(ctx context.Context, c *call) (got answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, cn.timeout+c.extra)
	defer cancel()
	resp, err := cn.send(ctx, c)
	if err != nil {
		return got, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	if err != nil {
		return got, cn.noReply(c, err)
	}
	if len(data) > maxReply {
		return got, cn.foreign(c, resp, errors.New("the reply is longer than 64 MiB"))
	}
	if err := json.Unmarshal(data, c.into); err != nil {
		return got, cn.foreign(c, resp, err)
	}
	return answer{resp.StatusCode, resp.Header}, nil
}

// send sends c once and returns a successful reply, whose body the caller must
// close.
func (cn *conn) send(ctx context.Context, c *call) (*http.Response, error) {
	req, err := cn.request(ctx, c)
	if err != nil {
		return nil, err
	}
	resp, err := cn.http.Do(req)
	if err != nil {
		return nil, cn.noReply(c, err)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		defer resp.Body.Close()
		return nil, cn.refusal(c, resp)
	}
	return resp, nil
}

func (cn *conn) request(ctx context.Context, c *call) (*http.Request, error) {
	target := cn.base + wire.Version + c.path
	if len(c.query) > 0 {
		target += "?" + url.Values(c.query).Encode()
	}
	var body io.Reader
	if c.body != nil {
		body = bytes.NewReader(c.body)
	}
	req, err := http.NewRequestWithContext(ctx, c.method, target, body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.op, err)
	}
	maps.Copy(req.Header, cn.header)
	if c.body != nil && !c.raw {
		req.Header.Set("Content-Type", "application/json")
	}
	maps.Copy(req.Header, c.header)
	return req, nil
}

func (cn *conn) noReply(c *call, err error) error {
	var about *url.Error
	if errors.As(err, &about) {
		err = about.Err // the outer error repeats the URL with its query
	}
	err = scheme(err)
	return &TransportError{Op: c.op, Server: cn.base, Err: err, MaybeApplied: !unsent(err)}
}

func (cn *conn) refusal(c *call, resp *http.Response) error {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	if err != nil {
		return cn.noReply(c, err)
	}
	if wantsTLS(resp, data) {
		return cn.noReply(c, ErrSpeaksTLS)
	}
	var p wire.Problem
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media != wire.ProblemType || json.Unmarshal(data, &p) != nil || p.Code == "" {
		return cn.foreign(c, resp, nil)
	}
	e := problemError(p)
	e.Op, e.Status, e.RetryAfter = c.op, resp.StatusCode, retryAfter(resp.Header, time.Now())
	e.MaybeApplied = resp.StatusCode >= http.StatusInternalServerError && !errors.Is(e, ErrFull) && e.Code != "store_unfit"
	return e
}

// foreign returns the error for a reply that did not come from a Foliot server:
// a proxy or another program sent it.
func (cn *conn) foreign(c *call, resp *http.Response, why error) error {
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
		Op: c.op, Status: resp.StatusCode, Detail: detail + ": is it a Foliot server?",
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
