package demo

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
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

	process *exec.Cmd
	ended   chan struct{} // closed when the process has ended
	log     tail
}

// start starts the server, and waits until it is ready.
func (c *child) start(ctx context.Context) error {
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
	c.process.Stderr = &c.log
	if err := c.process.Start(); err != nil {
		return fmt.Errorf("start a server: %w", err)
	}
	go func() {
		_ = c.process.Wait() // its error follows from the log
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
			return fmt.Errorf("the server is not ready after %v: %s", startTime, c.log.last())
		}
	}
	return ctx.Err()
}

// failure returns an error with the end of the log if the server has ended.
func (c *child) failure() error {
	select {
	case <-c.ended:
		return fmt.Errorf("the server ended: %s", c.log.last())
	default:
		return nil
	}
}

// kill ends the server with SIGKILL.
func (c *child) kill() {
	_ = c.process.Process.Kill() // fails only if it has ended
	<-c.ended
}

// stop ends the server as a user would. After a while it is killed.
func (c *child) stop() {
	if c.process == nil || c.process.Process == nil {
		return
	}
	if err := c.process.Process.Signal(os.Interrupt); err == nil { // not on Windows
		select {
		case <-c.ended:
			return
		case <-time.After(5 * time.Second):
		}
	}
	c.kill()
}

// tail keeps the end of a log.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	const kept = 4 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	t.text = t.text[max(0, len(t.text)-kept):]
	return len(b), nil
}

// last returns the last line.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := bytes.Split(bytes.TrimSpace(t.text), []byte("\n"))
	return strings.TrimPrefix(string(lines[len(lines)-1]), "foliot: ")
}
