package contender

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/foliot/foliot/bench/child"
)

// Role is what the processes that deliver for asynq and the original are called.
const Role = "node"

// NodeConfig says what such a process does.
type NodeConfig struct {
	Contender string
	Redis     string
}

// Node is such a process, as package child serves it.
type Node struct{}

// Start begins to deliver, until the process ends.
func (*Node) Start(c NodeConfig, _ *struct{}) error {
	if c.Contender == "original" {
		return runOriginal(c)
	}
	return runAsynq(c)
}

// startNode starts a process that delivers, and returns its number and what ends it.
func startNode(ctx context.Context, c NodeConfig) (pid int, end func() error, err error) {
	p, err := child.Start(Role)
	if err != nil {
		return 0, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := p.Call(ctx, "Start", c, new(struct{})); err != nil {
		_ = p.End() // the first error is the cause
		return 0, nil, err
	}
	return p.PID(), p.End, nil
}

// call sends a POST, as each contender's handler does.
func call(ctx context.Context, c *http.Client, url, body string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	reply, err := c.Do(r)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	if _, err := io.Copy(io.Discard, reply.Body); err != nil {
		return err
	}
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("it answered %s", reply.Status)
	}
	return nil
}
