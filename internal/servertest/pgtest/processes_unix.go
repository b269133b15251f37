//go:build unix

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"

	"github.com/foliot/foliot/internal/redistest"
)

// Attributes returns those of a server's processes, which keep their data in
// dir. PostgreSQL refuses to run as root, so if this process is root, the user
// postgres runs them and gets dir.
func Attributes(dir string) (*syscall.SysProcAttr, error) {
	attr := redistest.ChildAttr()
	if os.Getuid() != 0 {
		return attr, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("find a user for PostgreSQL: %w", err)
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return nil, err
	}
	attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)} //nolint:gosec // ids have 32 bits
	return attr, os.Chown(dir, uid, gid)
}

// Kill ends all processes like kill -9. Later calls do nothing.
func (s *Server) Kill() {
	s.signal(syscall.SIGSTOP) // it starts no more processes
	s.children(syscall.SIGKILL, "Z")
	s.signal(syscall.SIGKILL)
	<-s.running.Done()
}

// Pause stops all processes without ending them; Resume continues them.
func (s *Server) Pause() {
	s.signal(syscall.SIGSTOP)
	s.children(syscall.SIGSTOP, "TZ")
}

// Resume ends a Pause.
func (s *Server) Resume() {
	s.children(syscall.SIGCONT, "DIRSUZ")
	s.signal(syscall.SIGCONT)
}

// quit ends all processes without a checkpoint. Unlike a killed postmaster, this
// one removes its shared memory from the kernel, where it would stay.
func (s *Server) quit() {
	s.Resume()
	s.signal(syscall.SIGQUIT)
}

// children sends sig to the children of the postmaster until each has one of
// the states, which are letters of ps. Each child has a process group of its
// own, and zombies keep no memory, so only the states tell when Restart is
// possible.
func (s *Server) children(sig syscall.Signal, states string) {
	ctx, stop := context.WithTimeout(context.Background(), redistest.Patience)
	defer stop()
	err := redistest.Poll(ctx, func(ctx context.Context) error {
		if s.running.Err() != nil {
			return nil // the process id may be of another process now
		}
		out, err := exec.CommandContext(ctx, "ps", "-A", "-o", "pid=,ppid=,stat=").Output()
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(out)) {
			var pid, parent int
			var state string
			if _, scan := fmt.Sscan(line, &pid, &parent, &state); scan == nil && parent == s.cmd.Process.Pid && !strings.Contains(states, state[:1]) {
				err = errors.Join(fmt.Errorf("process %d has the state %s", pid, state), syscall.Kill(pid, sig))
			}
		}
		return err
	})
	if err != nil {
		panic(fmt.Errorf("send %v to the processes of PostgreSQL: %w", sig, err))
	}
}
