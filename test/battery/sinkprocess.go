package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/foliot/foliot/test/battery/harness/system"
)

// sinkCommand is the hidden scenario under which the battery runs itself again
// as a sink: in a process of its own it shares no scheduler and no collector
// with what measures, and the system says what it costs.
const sinkCommand = "sink"

// sinkOrder is a line of a sink's standard input; it answers each with its counts.
type sinkOrder struct {
	Know *[]string `json:"know,omitempty"` // the secrets from now on; nil changes nothing
}

// sinkGreeting is the first line of its standard output.
type sinkGreeting struct {
	Addr string `json:"addr"`
}

// runSink is a sink's process. It ends when its input does.
func runSink(path, addr string, in io.Reader, out io.Writer) error {
	s, err := openSink(path, addr)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(out)
	err = enc.Encode(sinkGreeting{s.listener.Addr().String()})
	for dec := json.NewDecoder(in); err == nil; {
		var order sinkOrder
		if err = dec.Decode(&order); errors.Is(err, io.EOF) {
			return s.close()
		} else if err != nil {
			break
		}
		if order.Know != nil {
			err = s.know(*order.Know)
		}
		if err == nil {
			err = enc.Encode(s.seen())
		}
	}
	return errors.Join(err, s.close())
}

// sinkProcess is that process. Its log is on the disk when close returns.
type sinkProcess struct {
	*system.Child
	path string
	addr string
}

// startSink starts a sink that logs to path.
func startSink(path string) (*sinkProcess, error) { return startSinkAt(path, "127.0.0.1:0") }

// startSinkAt starts a sink that logs to path and listens at addr.
func startSinkAt(path, addr string) (*sinkProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start the sink: %w", err)
	}
	c, err := system.StartChild("the sink", exec.Command(self, sinkCommand, path, addr))
	if err != nil {
		return nil, err
	}
	p := &sinkProcess{Child: c, path: path}
	var hello sinkGreeting
	if err := p.Out.Decode(&hello); err != nil {
		return nil, errors.Join(fmt.Errorf("start the sink: %w", err), p.Close())
	}
	p.addr = hello.Addr
	return p, nil
}

func (p *sinkProcess) url() string { return "http://" + p.addr + "/" }

// know replaces the secrets that the sink verifies with.
func (p *sinkProcess) know(secrets ...string) (sinkCounts, error) {
	return p.order(sinkOrder{Know: &secrets})
}

func (p *sinkProcess) counts() (sinkCounts, error) { return p.order(sinkOrder{}) }

func (p *sinkProcess) order(o sinkOrder) (c sinkCounts, err error) {
	if err := json.NewEncoder(p.In).Encode(o); err != nil {
		return c, fmt.Errorf("speak to the sink: %w", err)
	}
	if err := p.Out.Decode(&c); err != nil {
		return c, fmt.Errorf("listen to the sink: %w", err)
	}
	return c, nil
}

// end makes sure that no process is left, whatever it has logged.
func (p *sinkProcess) end() { _ = p.Close() }
