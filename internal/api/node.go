package api

import (
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

func (s *Server) live(w http.ResponseWriter, r *request) error {
	if s.cfg.Live == nil {
		return unsupported("this server does not tell what it is doing")
	}
	l := s.cfg.Live()
	if !r.operator {
		l.Running, l.Slots, l.Late, l.Attempts = 0, 0, nil, nil
	}
	l.Queues = slices.DeleteFunc(slices.Clone(l.Queues), func(q wire.LiveQueue) bool { return !r.sees(q.Namespace) })
	l.Destinations = slices.DeleteFunc(slices.Clone(l.Destinations), func(d wire.LiveDestination) bool { return !r.sees(d.Namespace) })
	for _, n := range r.settings.List(task.NamespaceKind, "") {
		if n := n.(*task.NamespaceSettings); n.Suspended && r.sees(n.Name) {
			l.Suspended = append(l.Suspended, n.Name)
		}
	}
	s.write(r.Context(), w, jsonType, http.StatusOK, l)
	return nil
}

func (s *Server) metrics(w http.ResponseWriter, r *request) error {
	if s.cfg.Metrics == nil {
		return unsupported("this server has no metrics")
	}
	s.cfg.Metrics.ServeHTTP(w, r.Request)
	return nil
}

// backup streams a backup, to who asks for more than its header. What goes wrong
// after the first byte breaks the connection off, so that nobody takes a part for
// the whole.
func (s *Server) backup(w http.ResponseWriter, r *request) (err error) {
	if s.cfg.Backup == nil {
		return unsupported("this server's store has no backup of its own: where tasks are in Redis, back up Redis itself; foliot export writes the tasks of a namespace")
	}
	h := w.Header()
	h.Set("Content-Type", "application/x-tar")
	h.Set("Content-Disposition", `attachment; filename="foliot-backup.tar"`)
	if r.Method == http.MethodHead {
		return nil
	}
	out := &stream{w: w, rc: http.NewResponseController(w), still: func() error { return s.still(&r.caller) }}
	whole := false
	defer func() {
		if !whole && out.begun {
			s.cfg.Log.LogAttrs(r.Context(), slog.LevelError, "backup broke off", slog.Any("error", err), slog.Any("panic", recover()))
			panic(http.ErrAbortHandler)
		}
	}()
	if err := s.cfg.Backup(r.Context(), out); err != nil {
		h.Del("Content-Disposition")
		return err
	}
	whole = true
	if writeTimeout(r.Request) == 0 { // otherwise the next request on the connection has its own
		_ = out.rc.SetWriteDeadline(time.Time{})
	}
	return nil
}

const (
	// stalled is how long a client may take nothing of a stream: what it keeps
	// open, others wait for.
	stalled = 30 * time.Second
	// streamStep is what counts as something, in bytes.
	streamStep = 32 << 10
)

// stream is a reply that takes as long as it takes, while it goes on and its
// reader may still read it.
type stream struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	still func() error
	begun bool
}

// Write implements io.Writer. Of nothing it does nothing: net/http would say 200.
func (s *stream) Write(b []byte) (written int, err error) {
	for written < len(b) && err == nil {
		var n int
		n, err = s.step(b[written:min(len(b), written+streamStep)])
		written += n
	}
	return written, err
}

func (s *stream) step(b []byte) (int, error) {
	if err := s.still(); err != nil {
		return 0, err
	}
	_ = s.rc.SetWriteDeadline(time.Now().Add(stalled)) // a writer that has none needs none moved
	s.begun = true
	return s.w.Write(b)
}

func unsupported(detail string) error { return refuse("unsupported", "", detail) }

// ready returns why no requests should come here, or nil.
func (s *Server) ready() error {
	select {
	case <-s.stop:
		return refuse("unavailable", "", "the server is stopping")
	default:
	}
	switch err := s.ledger.Err(); { // its text may name what only the operator should read
	case err == nil && s.nodes != nil && s.nodes.Standing().NameTaken:
		return refuse("unavailable", "", "another server that lives has the node's name of this one, which delivers nothing until that ends: start it with a --node of its own")
	case err == nil:
		return nil
	case errors.Is(err, task.ErrUnavailable):
		return task.ErrUnavailable
	}
	return task.ErrClosed
}
