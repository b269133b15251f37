package api

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/foliot/foliot/internal/task"
)

func (s *Server) metrics(w http.ResponseWriter, r *request) error {
	if s.cfg.Metrics == nil {
		return unsupported("this server has no metrics")
	}
	outside(r.Context(), func() { s.cfg.Metrics.ServeHTTP(w, r.Request) }) // it asks the store; few scrapes run at once
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
	// Recorded before the first byte: the caller is known even if the backup fails.
	who := r.actor()
	entry := task.AuditEntry{At: s.now(), By: who.By, Addr: who.Addr, Action: task.ActionBackup}
	if err := s.store.Record(r.Context(), []task.AuditEntry{entry}); err != nil {
		h.Del("Content-Disposition")
		return err
	}
	r.out.endless()
	r.out.pause() // it runs for long, mostly on the store's own goroutines
	out := &stream{w: w, revalidate: func() error { return s.revalidate(&r.caller) }}
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
		_ = r.out.control.SetWriteDeadline(time.Time{})
	}
	return nil
}

// stream is a reply that takes as long as it takes, while it goes on and its
// reader may still read it.
type stream struct {
	w          http.ResponseWriter
	revalidate func() error
	begun      bool
}

// Write implements io.Writer. Of nothing it does nothing: net/http would say 200.
func (s *stream) Write(b []byte) (written int, err error) {
	for written < len(b) && err == nil {
		var n int
		n, err = s.step(b[written:min(len(b), written+replyStep)])
		written += n
	}
	return written, err
}

func (s *stream) step(b []byte) (int, error) {
	if err := s.revalidate(); err != nil {
		return 0, err
	}
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
	if err := s.latch.lost(s.store.Settings()); err != nil {
		return err
	}
	switch err := s.store.Err(); { // its text may name what only the operator should read
	case err == nil && s.nodes != nil && s.nodes.Standing().NameTaken:
		return refuse("unavailable", "", "another server that lives has the node's name of this one, which delivers nothing until that ends: start it with a --node of its own")
	case err == nil:
		return nil
	case storeLost(err) != nil, errors.Is(err, task.ErrStoreUnfit):
		return err // it becomes a problem with a text of its own
	case errors.Is(err, task.ErrUnavailable):
		return task.ErrUnavailable
	}
	return task.ErrClosed
}
