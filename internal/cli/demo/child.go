package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/cli/console"
)

const (
	// startTime is the longest time in which the server must become ready. On a
	// Redis it may have to wait for the lease of the server that was killed.
	startTime = time.Minute
	// readyEvery is the time between two questions whether it is ready.
	readyEvery = 10 * time.Millisecond
)

// child is a server that runs as a child process of the demo.
type child struct {
	args []string // of the command foliot
	url  string
	log  string // the name of a file

	process *exec.Cmd
	ended   chan struct{} // closed when the process has ended
}

func (c *child) start(ctx context.Context) (err error) {
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("start a server: %w", err)
	}
	c.process, c.ended = exec.Command(binary, c.args...), make(chan struct{})
	for _, v := range os.Environ() { // the settings of the user are for another server
		if !strings.HasPrefix(v, "FOLIOT_") {
			c.process.Env = append(c.process.Env, v)
		}
	}
	log, err := os.Create(c.log)
	if err != nil {
		return fmt.Errorf("keep the log of the server: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	c.process.Stderr = log
	if err := c.process.Start(); err != nil {
		return fmt.Errorf("start a server: %w", err)
	}
	go func() {
		_ = c.process.Wait() // its state has the reason
		close(c.ended)
	}()
	return c.awaitReady(ctx)
}

func (c *child) awaitReady(ctx context.Context) error {
	for began := time.Now(); console.Pause(ctx, readyEvery); {
		if err := c.failure(); err != nil {
			return err
		}
		reply, err := http.Get(c.url + "/readyz") //nolint:noctx // its server is a child of this process
		if err == nil {
			_ = reply.Body.Close()
			if reply.StatusCode == http.StatusOK {
				return nil
			}
		}
		if time.Since(began) > startTime {
			return fmt.Errorf("the server is not ready after %v: %s", startTime, c.lastLines())
		}
	}
	return ctx.Err()
}

// failure returns an error with the end of the log if the server has ended.
func (c *child) failure() error {
	select {
	case <-c.ended:
		return fmt.Errorf("the server ended (%v); its log ends with: %s", c.process.ProcessState, c.lastLines())
	default:
		return nil
	}
}

func (c *child) kill() {
	if c.process == nil || c.process.Process == nil { // was not started
		return
	}
	_ = c.process.Process.Kill() // fails only if it has ended
	<-c.ended
}

func (c *child) lastLines() string {
	text, _ := os.ReadFile(c.log) // without it, there are no lines
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(text), "foliot: ", "")), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], "; ")
}
