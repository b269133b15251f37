package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// child is a process of the battery as its parent sees it. It reads its standard
// input and writes lines of JSON. It ends when its input does. One goroutine drives it.
type child struct {
	name string // in errors
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
}

// startChild starts a process. Errors name it.
func startChild(name string, cmd *exec.Cmd) (*child, error) {
	c := &child{name: name, cmd: cmd}
	c.cmd.Stderr = os.Stderr
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	c.out = json.NewDecoder(out)
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return c, nil
}

// close ends the process and waits for it. Twice is fine.
func (c *child) close() error {
	if c.cmd.ProcessState != nil {
		return nil
	}
	c.in.Close()
	timer := time.AfterFunc(time.Minute, func() { _ = c.cmd.Process.Kill() }) // it is stuck: Wait says so
	defer timer.Stop()
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("%s ended with %w", c.name, err)
	}
	return nil
}
