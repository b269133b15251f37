package harness

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// Client speaks to the server as any other program would. It may be used by
// many goroutines.
type Client struct {
	Base  string // of the API
	Token string // sent with each request; "" means none
	HTTP  *http.Client
}

// NewClient returns a client of the API of a server.
func NewClient(server string) *Client { return NewClientFrom(nil, server+wire.Version) }

// NewClientFrom returns a client that calls from an address of this machine.
// nil means any address.
func NewClientFrom(addr net.IP, base string) *Client {
	dialer := &net.Dialer{}
	if addr != nil {
		dialer.LocalAddr = &net.TCPAddr{IP: addr}
	}
	return &Client{Base: base, HTTP: &http.Client{
		Timeout:   30 * time.Second,
		Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 512, MaxIdleConns: 1024},
	}}
}

// Close closes the idle connections.
func (c *Client) Close() { c.HTTP.CloseIdleConnections() }

// WithToken returns a client that sends another token. It shares the
// connections.
func (c *Client) WithToken(token string) *Client {
	other := *c
	other.Token = token
	return &other
}

// Call sends body as JSON and returns the status and the reply. An error means
// that no complete reply came.
func (c *Client) Call(ctx context.Context, method, path string, body any) (int, []byte, error) {
	return c.CallWith(ctx, nil, method, path, body)
}

// CallWith is Call with additional header fields.
func (c *Client) CallWith(ctx context.Context, fields map[string]string, method, path string, body any) (int, []byte, error) {
	var r io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		r = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.Base+path, r)
	if err != nil {
		return 0, nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range fields {
		req.Header.Set(name, value)
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	reply, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil, err
	}
	return resp.StatusCode, reply, nil
}

// Do calls, expects a 2xx and reads the reply into out, unless that is nil.
func (c *Client) Do(ctx context.Context, method, path string, in, out any) error {
	status, reply, err := c.Call(ctx, method, path, in)
	if err != nil {
		return err
	}
	if status/100 != 2 {
		return fmt.Errorf("%s %s: status %d: %.300s", method, path, status, reply)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(reply, out); err != nil {
		return fmt.Errorf("%s %s: read the reply: %w", method, path, err)
	}
	return nil
}

// Task is a task to callback at due.
func Task(name, callback string, due time.Time) wire.TaskInput {
	return wire.TaskInput{Name: name, At: wire.FormatTime(due), HTTP: wire.HTTPInput{URL: callback}}
}

// Create makes one task and reports whether the server promised it.
func (c *Client) Create(ctx context.Context, in wire.TaskInput) (bool, error) {
	status, reply, err := c.Call(ctx, http.MethodPost, "/tasks", in)
	if err != nil {
		return false, err
	}
	if status/100 != 2 {
		return false, fmt.Errorf("create %s: status %d: %s", in.Name, status, reply)
	}
	return true, nil
}

// CreateAll creates tasks in batches. Every batch must succeed.
func (c *Client) CreateAll(ctx context.Context, tasks []wire.TaskInput) error {
	const most = 1000
	for len(tasks) > 0 {
		n := min(most, len(tasks))
		status, data, err := c.Call(ctx, http.MethodPost, "/tasks/batch", map[string]any{"tasks": tasks[:n]})
		if err != nil {
			return fmt.Errorf("create a batch: %w", err)
		}
		var reply wire.BatchReply
		if err := json.Unmarshal(data, &reply); err != nil || status != http.StatusOK {
			return fmt.Errorf("create a batch: status %d: %.200s", status, data)
		}
		for _, r := range reply.Results {
			if r.Status != http.StatusCreated {
				return fmt.Errorf("create %s: status %d: %s %s", r.Name, r.Status, r.Code, r.Detail)
			}
		}
		tasks = tasks[n:]
	}
	return nil
}

// Cancel cancels a task and returns the status of the reply. 0 means that no
// reply came.
func (c *Client) Cancel(ctx context.Context, name string) int {
	status, _, err := c.Call(ctx, http.MethodDelete, "/tasks/"+url.PathEscape(name), nil)
	if err != nil {
		return 0
	}
	return status
}

// Get returns a task.
func (c *Client) Get(ctx context.Context, name string) (t wire.Task, err error) {
	err = c.Do(ctx, http.MethodGet, "/tasks/"+url.PathEscape(name), nil, &t)
	return t, err
}

// OutsideAPI returns a client without a token for paths outside the API, such as
// /readyz. It shares the connections.
func (c *Client) OutsideAPI() *Client {
	other := c.WithToken("")
	other.Base = strings.TrimSuffix(other.Base, wire.Version)
	return other
}

// Trust makes the client trust these authorities. It must be called before the
// first request.
func (c *Client) Trust(roots *x509.CertPool) {
	c.HTTP.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots}
}
