package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// sink is a receiver that takes as little of the machine as it can: where a
// rate is measured, the server is what should be the limit. It reads as much of
// HTTP as a delivery needs, answers 200, and logs every callback, but unlike
// receiver it does not wait for the disk: nobody kills it.
//
// serve runs a goroutine for each connection; close ends and awaits all.
type sink struct {
	listener net.Listener
	file     *os.File
	group    sync.WaitGroup

	mu      sync.Mutex // guards everything below
	lines   *bufio.Writer
	failed  error // of the log: the first
	counts  sinkCounts
	secrets []*webhooks.Webhook
	conns   map[net.Conn]struct{}
}

// sinkCounts is what a sink has seen so far.
type sinkCounts struct {
	Arrived  int `json:"arrived"`
	Signed   int `json:"signed"`   // that carried a signature
	Verified int `json:"verified"` // of the sample: signed by a secret that is known
	Rejected int `json:"rejected"` // of the sample: not so
}

// sample is how many callbacks there are to one whose signature is verified,
// while the sink knows a secret.
const sample = 16

// openSink opens a sink that logs to path and listens at addr.
func openSink(path, addr string) (*sink, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the sink's log: %w", err)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open a sink: %w", err)
	}
	s := &sink{listener: l, file: f, lines: bufio.NewWriterSize(f, 1<<20), conns: map[net.Conn]struct{}{}}
	s.group.Go(s.accept)
	return s, nil
}

func (s *sink) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return // closed
		}
		if remote, ok := conn.RemoteAddr().(*net.TCPAddr); !ok || !remote.IP.IsLoopback() {
			conn.Close() // the sink may listen on every address
			continue
		}
		s.mu.Lock()
		s.conns[conn] = struct{}{}
		s.mu.Unlock()
		s.group.Go(func() {
			s.serve(conn)
			s.mu.Lock()
			delete(s.conns, conn)
			s.mu.Unlock()
			conn.Close()
		})
	}
}

const (
	okReply  = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	badReply = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)

// serve answers one request after another until the connection ends.
func (s *sink) serve(conn net.Conn) {
	r := bufio.NewReaderSize(conn, 16<<10)
	for {
		c, err := readCallback(r)
		if errors.Is(err, errNoCallback) {
			_, _ = io.WriteString(conn, badReply) // the connection ends here in any case
			return
		}
		if err != nil || s.note(c) != nil {
			return
		}
		if _, err := io.WriteString(conn, okReply); err != nil {
			return
		}
	}
}

// note counts and logs a callback, and verifies one in sample.
func (s *sink) note(c sunk) error {
	s.mu.Lock()
	s.counts.Arrived++
	if c.signature != "" {
		s.counts.Signed++
	}
	secrets := s.secrets
	if s.counts.Arrived%sample != 0 {
		secrets = nil
	}
	var room [256]byte
	if _, err := s.lines.Write(c.appendLine(room[:0])); err != nil && s.failed == nil {
		s.failed = err
	}
	failed := s.failed
	s.mu.Unlock()
	if len(secrets) == 0 {
		return failed
	}
	ok := c.signedBy(secrets)
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok {
		s.counts.Verified++
	} else {
		s.counts.Rejected++
	}
	return failed
}

// know replaces the secrets that signatures are verified with.
func (s *sink) know(secrets []string) error {
	var list []*webhooks.Webhook
	for _, secret := range secrets {
		w, err := webhooks.NewWebhook(secret)
		if err != nil {
			return fmt.Errorf("read a signing secret: %w", err)
		}
		list = append(list, w)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secrets = list
	return nil
}

func (s *sink) seen() sinkCounts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// close returns when the log is on the disk.
func (s *sink) close() error {
	s.listener.Close()
	s.mu.Lock()
	for conn := range s.conns {
		conn.Close()
	}
	s.mu.Unlock()
	s.group.Wait()
	err := errors.Join(s.failed, s.lines.Flush(), s.file.Sync())
	s.file.Close()
	return err
}
