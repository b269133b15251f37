//go:build unix

package redistest

import "syscall"

// Pause stops the process without ending it; Resume continues it.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Resume ends a Pause.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }
