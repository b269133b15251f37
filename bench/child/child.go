// Package child runs a part of the program in a process of its own.
package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// flag is the first argument of a child process. The second is its role.
const flag = "-child"

// Main serves the method receiver of this process's role, and ends the process.
// It returns if this process is no child.
func Main(receivers map[string]any) {
	if len(os.Args) != 3 || os.Args[1] != flag {
		return
	}
	s := rpc.NewServer()
	err := s.RegisterName("Child", receivers[os.Args[2]])
	if err == nil {
		s.ServeConn(fromParent{})
		err = errors.New("the parent has ended")
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// Process is a child process. It ends by itself when its parent dies. End ends
// it and waits.
type Process struct {
	role   string
	cmd    *exec.Cmd
	calls  *rpc.Client
	exited chan struct{} // closed once the process is gone
}

// Start starts this program again in a role. The child writes to the same error
// output.
func Start(role string) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	p := &Process{role: role, cmd: exec.Command(self, flag, role), exited: make(chan struct{})}
	p.cmd.Stderr = os.Stderr
	// The runtime has its default settings.
	p.cmd.Env = append(os.Environ(), "GOGC=100", "GOMEMLIMIT=off", "GODEBUG=")
	p.cmd.SysProcAttr = dieWithParent()
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("open the pipe to a %s: %w", role, err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("open the pipe from a %s: %w", role, err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a %s: %w", role, err)
	}
	p.calls = rpc.NewClient(pipes{out, in})
	go func() {
		_ = p.cmd.Wait() // a call under way fails, so the exit code is not needed
		close(p.exited)
	}()
	return p, nil
}

// Call calls a method of the child and waits for its reply. args and reply are
// those of package rpc. If ctx ends, Call kills the child, so that reply does
// not change after Call has returned.
func (p *Process) Call(ctx context.Context, method string, args, reply any) error {
	call := p.calls.Go("Child."+method, args, reply, make(chan *rpc.Call, 1))
	select {
	case <-ctx.Done():
		_ = p.cmd.Process.Kill() // it may have just ended
		<-call.Done
		return fmt.Errorf("wait for %s of the %s: %w", method, p.role, context.Cause(ctx))
	case <-call.Done:
	}
	if call.Error == nil {
		return nil
	}
	return fmt.Errorf("%s of the %s: %w", method, p.role, call.Error)
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Freeze stops the process as a debugger does. Its kernel still handles its
// connections.
func (p *Process) Freeze() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }

// Thaw continues a frozen process.
func (p *Process) Thaw() error { return p.cmd.Process.Signal(syscall.SIGCONT) }

// End asks the process to end, and kills it if it does not end in time.
func (p *Process) End() error {
	const patience = 5 * time.Second
	_ = p.Thaw() // it may be frozen, or have ended
	_ = p.calls.Close()
	select {
	case <-p.exited:
		return nil
	case <-time.After(patience):
	}
	_ = p.cmd.Process.Kill() // it may have just ended
	<-p.exited
	return fmt.Errorf("a %s did not end within %v and was killed", p.role, patience)
}

// fromParent reads standard input and writes standard output. The process exits
// at the end of the input.
type fromParent struct{}

func (fromParent) Read(b []byte) (int, error) {
	n, err := os.Stdin.Read(b)
	if err != nil {
		os.Exit(0)
	}
	return n, nil
}

func (fromParent) Write(b []byte) (int, error) { return os.Stdout.Write(b) }
func (fromParent) Close() error                { return nil }

// pipes has the two pipes to and from a child.
type pipes struct {
	io.ReadCloser
	in io.WriteCloser
}

func (p pipes) Write(b []byte) (int, error) { return p.in.Write(b) }

// Close closes only the pipe to the child. Then the child ends, and Wait closes
// the other pipe.
func (p pipes) Close() error { return p.in.Close() }
