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

// Role is the role of the child processes that deliver for asynq and the
// original.
const Role = "node"

// NodeConfig configures such a process.
type NodeConfig struct {
	Contender string
	Redis     string
}

// Node is such a process. Package child serves its methods.
type Node struct{}

// Start starts the deliveries. They continue until the process ends.
func (*Node) Start(c NodeConfig, _ *struct{}) error {
	if c.Contender == "original" {
		return runOriginal(c)
	}
	return runAsynq(c)
}

// startNode starts a process that delivers. It returns the process id and a
// function that ends the process.
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

// call sends a POST. Every contender's handler sends the same.
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
		return fmt.Errorf("the receiver replied %s", reply.Status)
	}
	return nil
}
