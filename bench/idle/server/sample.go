package server

import (
	"runtime"

	"github.com/foliot/foliot/bench/usage"
)

// Sample returns the resources that the process has used. collected adds the
// heap after garbage collections.
func (s *Server) Sample(collected bool, out *Sample) error {
	if collected {
		out.Heap, out.Stack = inUse()
	}
	if err := s.failure(); err != nil {
		return err
	}
	out.Open = int(s.open.Load())
	out.Stalls = s.guard.Stalls()
	out.Messages = s.messages.Load()
	out.CPU = usage.CPU()
	return nil
}

func (s *Server) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// Endings returns the connections that have ended.
func (s *Server) Endings(_ struct{}, out *[]Ending) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	*out = append(*out, s.ended...)
	return nil
}

// Shut stops the listeners and the guard.
func (s *Server) Shut(struct{}, *struct{}) error {
	for _, l := range s.listeners {
		l.Close()
	}
	s.accepting.Wait()
	s.guard.Close()
	return nil
}

// inUse collects twice: memory that a finalizer or a pool keeps the first time
// is freed the second.
func inUse() (heap, stack int64) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc), int64(m.StackInuse)
}
