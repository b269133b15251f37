package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// client speaks to the server as any other program would. It may be used by
// many goroutines.
type client struct {
	base  string // of the API
	token string // "" shows none
	http  *http.Client
}

func newClient(server string) *client { return newClientFrom(nil, server+wire.Version) }

// newClientFrom returns a client that calls from an address of this machine; nil: any.
func newClientFrom(addr net.IP, base string) *client {
	dialer := &net.Dialer{}
	if addr != nil {
		dialer.LocalAddr = &net.TCPAddr{IP: addr}
	}
	return &client{base: base, http: &http.Client{
		Timeout:   30 * time.Second,
		Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 512, MaxIdleConns: 1024},
	}}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// as returns a client that shows another token. It shares the connections.
func (c *client) as(token string) *client {
	other := *c
	other.token = token
	return &other
}

// call sends body as JSON and returns the status and the reply. An error means
// that no whole reply came.
func (c *client) call(ctx context.Context, method, path string, body any) (int, []byte, error) {
	return c.callWith(ctx, nil, method, path, body)
}

// callWith is call with header fields beside those of every call.
func (c *client) callWith(ctx context.Context, fields map[string]string, method, path string, body any) (int, []byte, error) {
	var r io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		r = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, r)
	if err != nil {
		return 0, nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range fields {
		req.Header.Set(name, value)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
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

// do calls, expects a 2xx and reads the reply into out, unless that is nil.
func (c *client) do(ctx context.Context, method, path string, in, out any) error {
	status, reply, err := c.call(ctx, method, path, in)
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

// input is a task to callback at due.
func input(name, callback string, due time.Time) wire.TaskInput {
	return wire.TaskInput{Name: name, At: wire.FormatTime(due), HTTP: wire.HTTPInput{URL: callback}}
}

// create makes one task and reports whether the server promised it.
func (c *client) create(ctx context.Context, in wire.TaskInput) (bool, error) {
	status, reply, err := c.call(ctx, http.MethodPost, "/tasks", in)
	if err != nil {
		return false, err
	}
	if status/100 != 2 {
		return false, fmt.Errorf("create %s: status %d: %s", in.Name, status, reply)
	}
	return true, nil
}

// createAll makes tasks in batches, all of which must succeed.
func (c *client) createAll(ctx context.Context, tasks []wire.TaskInput) error {
	const most = 1000
	for len(tasks) > 0 {
		n := min(most, len(tasks))
		status, data, err := c.call(ctx, http.MethodPost, "/tasks/batch", map[string]any{"tasks": tasks[:n]})
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

// cancel returns the status of the answer, 0 when none came.
func (c *client) cancel(ctx context.Context, name string) int {
	status, _, err := c.call(ctx, http.MethodDelete, "/tasks/"+url.PathEscape(name), nil)
	if err != nil {
		return 0
	}
	return status
}

// get returns a task.
func (c *client) get(ctx context.Context, name string) (t wire.Task, err error) {
	err = c.do(ctx, http.MethodGet, "/tasks/"+url.PathEscape(name), nil, &t)
	return t, err
}
