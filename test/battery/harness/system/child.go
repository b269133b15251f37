package system

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// Child is a process of the battery as its parent sees it. It reads its standard
// input and writes lines of JSON. It ends when its standard input ends. One
// goroutine drives it.
type Child struct {
	name string // in errors
	Cmd  *exec.Cmd
	In   io.WriteCloser
	Out  *json.Decoder
}

// StartChild starts a process. Errors name it.
func StartChild(name string, cmd *exec.Cmd) (*Child, error) {
	c := &Child{name: name, Cmd: cmd}
	c.Cmd.Stderr = os.Stderr
	var err error
	if c.In, err = c.Cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	out, err := c.Cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	c.Out = json.NewDecoder(out)
	if err := c.Cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return c, nil
}

// Close ends the process and waits for it. It may be called twice.
func (c *Child) Close() error {
	if c.Cmd.ProcessState != nil {
		return nil
	}
	c.In.Close()
	timer := time.AfterFunc(time.Minute, func() { _ = c.Cmd.Process.Kill() }) // it is stuck: Wait says so
	defer timer.Stop()
	if err := c.Cmd.Wait(); err != nil {
		return fmt.Errorf("%s ended with %w", c.name, err)
	}
	return nil
}
