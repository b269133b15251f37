//go:build unix

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"
)

const (
	heir = "CHAT_TAKES_OVER" // the variable that is set for a process that inherits the listener

	listenerFile = 3 // the listener in such a process: exec.Cmd.ExtraFiles begin with 3
	readyFile    = 4 // the pipe on which it reports that it serves

	startUp = 10 * time.Second // time limit until the new process serves
)

// takeOver returns the listener inherited from another process, or nil, and a
// function that reports that this process serves.
func takeOver() (l net.Listener, ready func() error, err error) {
	if os.Getenv(heir) == "" {
		return nil, func() error { return nil }, nil
	}
	_ = os.Unsetenv(heir) // not for the children of this process
	f := os.NewFile(listenerFile, "listener")
	defer f.Close()
	l, err = net.FileListener(f)
	pipe := os.NewFile(readyFile, "ready")
	return l, func() error {
		defer pipe.Close()
		_, err := pipe.Write([]byte{1})
		return err
	}, err
}

// handOn starts this program again with the same arguments, and returns when
// the new process serves from the listener l. Both serve until this one closes
// l. After an error there is no new process.
func handOn(l net.Listener) error {
	listener, err := duplicate(l)
	if err != nil {
		return err
	}
	defer listener.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	program, err := os.Executable()
	if err != nil {
		return err
	}
	child := exec.Command(program, os.Args[1:]...)
	child.Env = append(os.Environ(), heir+"=1")
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	child.ExtraFiles = []*os.File{listener, w}
	err = child.Start()
	w.Close()
	if err != nil {
		return err
	}
	err = r.SetReadDeadline(time.Now().Add(startUp))
	if err == nil {
		_, err = r.Read(make([]byte, 1))
	}
	if err != nil {
		_ = child.Process.Kill()
		return fmt.Errorf("the new process does not serve (%w): %w", err, child.Wait())
	}
	return child.Process.Release()
}

// duplicate returns the listener as a file for another process. It does not use
// TCPListener.File: exec makes such a file's socket blocking, for both
// processes, and a blocked Accept prevents the close of the listener.
func duplicate(l net.Listener) (*os.File, error) {
	socket, ok := l.(syscall.Conn)
	if !ok {
		return nil, errors.New("the listener has no descriptor that could be handed on")
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	var copied int
	var dupErr error
	err = raw.Control(func(fd uintptr) {
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		if copied, dupErr = syscall.Dup(int(fd)); dupErr == nil {
			syscall.CloseOnExec(copied)
		}
	})
	if err = errors.Join(err, dupErr); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(copied), "listener"), nil
}
