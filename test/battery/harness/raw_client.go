package harness

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// RawClient is one connection that sends requests at almost no cost, so that a
// measurement shows the server and not its client. It is no HTTP client: the
// server must give each reply a length.
type RawClient struct {
	conn net.Conn
	in   *bufio.Reader
	host string
	out  []byte
}

// DialRaw connects to the server at url for the time that ctx leaves.
func DialRaw(ctx context.Context, url string) (*RawClient, error) {
	host := strings.TrimPrefix(url, "http://")
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, fmt.Errorf("connect to the server: %w", err)
	}
	if end, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(end)
	} else {
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
	}
	return &RawClient{conn: conn, in: bufio.NewReader(conn), host: host}, nil
}

// Post sends a body as JSON and returns the status of the reply.
func (c *RawClient) Post(path string, body []byte) (status int, err error) {
	c.out = fmt.Appendf(c.out[:0], "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", path, c.host, len(body))
	c.out = append(c.out, body...)
	if _, err := c.conn.Write(c.out); err != nil {
		return 0, fmt.Errorf("send a request: %w", err)
	}
	status, err = c.readReply()
	if err != nil {
		return 0, fmt.Errorf("read a reply: %w", err)
	}
	return status, nil
}

func (c *RawClient) readReply() (status int, err error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	const at = len("HTTP/1.1 ")
	if len(line) < at+3 {
		return 0, fmt.Errorf("the status line %q", line)
	}
	if status, err = strconv.Atoi(string(line[at : at+3])); err != nil {
		return 0, err
	}
	length := -1
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			break
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return 0, err
			}
		}
	}
	if length < 0 {
		return 0, fmt.Errorf("a reply with status %d has no length", status)
	}
	_, err = c.in.Discard(length)
	return status, err
}

// Close closes the connection.
func (c *RawClient) Close() error { return c.conn.Close() }

// CreateSingly creates tasks one by one, over this number of connections at
// once. input returns the i-th task of a connection, or false if there are no
// more. Each create must succeed. CreateSingly returns the number of created
// tasks.
func (e *Environment) CreateSingly(ctx context.Context, connections int, input func(connection, i int) (wire.TaskInput, bool)) (int, error) {
	var created atomic.Int64 // added to by every connection, read when all have ended
	err := timing.InParallel(connections, connections, func(c int) (err error) {
		client, err := DialRaw(ctx, e.Server.URL())
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, client.Close()) }()
		for i := 0; ; i++ {
			in, more := input(c, i)
			if !more {
				return nil
			}
			body, err := json.Marshal(in)
			if err != nil {
				return err
			}
			status, err := client.Post(wire.Version+"/tasks", body)
			if err != nil {
				return err
			}
			if status != http.StatusCreated {
				return fmt.Errorf("a create was answered with %d", status)
			}
			created.Add(1)
		}
	})
	return int(created.Load()), err
}
