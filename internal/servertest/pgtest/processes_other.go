//go:build !unix

package pgtest

import (
	"syscall"

	"github.com/foliot/foliot/internal/redistest"
)

func Attributes(string) (*syscall.SysProcAttr, error) { return redistest.ChildAttr(), nil }

// Kill ends the postmaster, and all others end when they notice that.
func (s *Server) Kill() {
	s.signal(syscall.SIGKILL)
	<-s.running.Done()
}

func (s *Server) quit() { s.Kill() }
