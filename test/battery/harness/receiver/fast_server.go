package receiver

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

// fastServer is a receiver that uses as little of the machine as it can, so
// that the server is the limit when a rate is measured. It reads only the parts
// of HTTP that a delivery has, replies with 200, and logs every callback.
// Unlike Receiver, it buffers its log, because no scenario kills it.
//
// serve runs a goroutine for each connection; close ends and awaits all.
type fastServer struct {
	listener net.Listener
	file     *os.File
	group    sync.WaitGroup

	mu      sync.Mutex // guards everything below
	lines   *bufio.Writer
	failed  error // of the log: the first
	counts  Counts
	secrets []*webhooks.Webhook
	conns   map[net.Conn]struct{}
}

// openFastServer opens a server that logs to path and listens at addr.
func openFastServer(path, addr string) (*fastServer, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of a fast receiver: %w", err)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open a fast receiver: %w", err)
	}
	s := &fastServer{listener: l, file: f, lines: bufio.NewWriterSize(f, 1<<20), conns: map[net.Conn]struct{}{}}
	s.group.Go(s.accept)
	return s, nil
}

func (s *fastServer) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return // closed
		}
		if remote, ok := conn.RemoteAddr().(*net.TCPAddr); !ok || !remote.IP.IsLoopback() {
			conn.Close() // the server may listen on every address
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
func (s *fastServer) serve(conn net.Conn) {
	r := bufio.NewReaderSize(conn, 16<<10)
	for {
		c, err := readCallback(r)
		if errors.Is(err, errInvalidRequest) {
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
func (s *fastServer) note(c callback) error {
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
func (s *fastServer) know(secrets []string) error {
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

func (s *fastServer) seen() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// close returns when the log is on the disk.
func (s *fastServer) close() error {
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
