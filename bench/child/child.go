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
	"strings"
	"sync"
	"syscall"
	"time"
)

// flag is the first argument of a process that shall serve; its role is the second.
const flag = "-child"

// Role returns what this process shall serve; nothing if it is no child.
func Role() string {
	if len(os.Args) == 3 && os.Args[1] == flag {
		return os.Args[2]
	}
	return ""
}

// Process is a child. It ends by itself when its parent dies; End ends it, and waits.
type Process struct {
	role   string
	cmd    *exec.Cmd
	calls  *rpc.Client
	last   *head
	exited chan struct{} // closed once the process is gone
}

// Start starts this program once more, in a role. What goes wrong over there is a part of later errors.
func Start(role string) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	p := &Process{role: role, cmd: exec.Command(self, flag, role), last: new(head), exited: make(chan struct{})}
	p.cmd.Stderr = p.last
	// The settings of the runtime are those of a server that was given none.
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
		_ = p.cmd.Wait() // how it ended is of no interest: a call that was under way fails, and says what the child said
		close(p.exited)
	}()
	return p, nil
}

// Call calls a method of what the child serves and waits for its answer. args and reply are those of package rpc. When ctx is done it
// kills the child: nobody may write into reply any more.
func (p *Process) Call(ctx context.Context, method string, args, reply any) error {
	call := p.calls.Go("Child."+method, args, reply, make(chan *rpc.Call, 1))
	select {
	case <-ctx.Done():
		_ = p.cmd.Process.Kill() // it may have ended in this moment
		<-call.Done
		return fmt.Errorf("wait for %s of the %s: %w", method, p.role, context.Cause(ctx))
	case <-call.Done:
	}
	if call.Error == nil {
		return nil
	}
	if said := p.last.String(); said != "" {
		return fmt.Errorf("%s of the %s: %w: %s", method, p.role, call.Error, said)
	}
	return fmt.Errorf("%s of the %s: %w", method, p.role, call.Error)
}

// PID returns the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Freeze stops the process as a debugger does: it does nothing, and its kernel goes on for it.
func (p *Process) Freeze() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }

// Thaw lets it go on.
func (p *Process) Thaw() error { return p.cmd.Process.Signal(syscall.SIGCONT) }

// End lets the process end, and kills it if it doesn't.
func (p *Process) End() error {
	const patience = 5 * time.Second
	_ = p.Thaw() // it may be frozen, or gone
	_ = p.calls.Close()
	select {
	case <-p.exited:
		return nil
	case <-time.After(patience):
	}
	_ = p.cmd.Process.Kill() // it may have ended in this moment
	<-p.exited
	return fmt.Errorf("a %s did not end within %v and was killed", p.role, patience)
}

// Serve answers the parent with the methods of a receiver until that one goes away. Then the process exits, whatever it does.
func Serve(receiver any) error {
	s := rpc.NewServer()
	if err := s.RegisterName("Child", receiver); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	s.ServeConn(fromParent{})
	return errors.New("the parent is gone")
}

// fromParent is standard input and output.
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

// pipes are both ways to a child.
type pipes struct {
	io.ReadCloser
	in io.WriteCloser
}

func (p pipes) Write(b []byte) (int, error) { return p.in.Write(b) }

// Close closes the way to the child alone: the other one ends with it, and Wait closes it.
func (p pipes) Close() error { return p.in.Close() }

// head keeps the first lines of what a child says.
type head struct {
	mu   sync.Mutex // guards said
	said []byte
}

func (h *head) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	const enough = 4096
	h.said = append(h.said, b[:min(len(b), enough-len(h.said))]...)
	return len(b), nil
}

// String returns three lines.
func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	lines := strings.SplitN(strings.TrimSpace(string(h.said)), "\n", 4)
	return strings.Join(lines[:min(3, len(lines))], " | ")
}
