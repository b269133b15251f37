package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// attackProcess is an attacker's process as its parent sees it. One goroutine
// drives it.
type attackProcess struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

// startAttack starts an attacker, which prepares its attack at once. The process
// has less claim on the processor than the server: a real attacker would not run
// on the server's machine.
func startAttack(order attackOrder) (*attackProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start the attacker: %w", err)
	}
	args := []string{self, attackCommand}
	if nice, err := exec.LookPath("nice"); err == nil {
		args = append([]string{nice, "-n", "10"}, args...)
	}
	p := &attackProcess{cmd: exec.Command(args[0], args[1:]...)}
	p.cmd.Stderr = os.Stderr
	p.cmd.SysProcAttr = childAttr()
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start the attacker: %w", err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the attacker: %w", err)
	}
	p.out = json.NewDecoder(out)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the attacker: %w", err)
	}
	if err := json.NewEncoder(p.in).Encode(order); err != nil {
		return nil, errors.Join(fmt.Errorf("send the order: %w", err), p.close())
	}
	return p, nil
}

// prepared waits until the attack is prepared.
func (p *attackProcess) prepared() (ready attackReady, err error) {
	if err := p.out.Decode(&ready); err != nil {
		return ready, fmt.Errorf("prepare the attack: %w", errors.Join(err, p.close()))
	}
	return ready, nil
}

// strike starts the attack.
func (p *attackProcess) strike() error {
	if _, err := io.WriteString(p.in, "{}\n"); err != nil {
		return fmt.Errorf("start the attack: %w", err)
	}
	return nil
}

// end ends the attack and its process, and returns the attacker's counts.
func (p *attackProcess) end() (counts attackCounts, err error) {
	p.in.Close()
	if err := p.out.Decode(&counts); err != nil {
		return counts, fmt.Errorf("end the attack: %w", errors.Join(err, p.close()))
	}
	return counts, p.close()
}

// close ends the process and waits for it. Twice is fine.
func (p *attackProcess) close() error {
	if p.cmd.ProcessState != nil {
		return nil
	}
	p.in.Close()
	timer := time.AfterFunc(time.Minute, func() { _ = p.cmd.Process.Kill() }) // it is stuck: Wait says so
	defer timer.Stop()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("the attacker ended with %w", err)
	}
	return nil
}
