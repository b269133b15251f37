package api

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

func (s *Server) metrics(w http.ResponseWriter, r *request) error {
	if s.cfg.Metrics == nil {
		return unsupported("this server has no metrics")
	}
	s.cfg.Metrics.ServeHTTP(w, r.Request)
	return nil
}

// backup streams a backup, unless the request is a HEAD. A failure after the
// first byte breaks the connection, so that the client does not mistake a part
// for the whole backup.
func (s *Server) backup(w http.ResponseWriter, r *request) (err error) {
	engine := s.cfg.Engine
	if engine == nil || engine.Backup() == nil {
		return unsupported("the store of this server has no backup: for tasks in Redis, back up Redis; foliot export writes the tasks of a namespace")
	}
	h := w.Header()
	h.Set("Content-Type", "application/x-tar")
	h.Set("Content-Disposition", `attachment; filename="foliot-backup.tar"`)
	if r.Method == http.MethodHead {
		return nil
	}
	// Record the backup before its first byte: the caller is known even if it
	// fails.
	entry := r.actor().Entry(s.now(), "", settings.ActionBackup, "")
	if err := s.store.note(r.Context(), s.now(), entry); err != nil {
		h.Del("Content-Disposition")
		return err
	}
	r.out.endless()
	r.out.Leave() // a backup takes long, mostly on goroutines of the store
	out := &stream{w: w, revalidate: func() error { return s.revalidate(&r.caller) }}
	whole := false
	defer func() {
		if !whole && out.begun {
			s.cfg.Log.LogAttrs(r.Context(), slog.LevelError, "the backup broke off: the file at the client is incomplete", slog.Any("error", err), slog.Any("panic", recover()))
			panic(http.ErrAbortHandler)
		}
	}()
	if err := engine.Backup()(r.Context(), out); err != nil {
		h.Del("Content-Disposition")
		return err
	}
	whole = true
	if writeTimeout(r.Request) == 0 { // otherwise net/http sets a deadline for the next request
		_ = r.out.control.SetWriteDeadline(time.Time{})
	}
	return nil
}

// stream is a reply without a time limit, which continues while the client
// reads and its token is valid.
type stream struct {
	w          http.ResponseWriter
	revalidate func() error
	begun      bool
}

// Write implements io.Writer. An empty b writes nothing, because net/http would
// otherwise send 200.
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

func (s *Server) ready() error {
	select {
	case <-s.stop:
		return refuse("unavailable", "", "the server is stopping")
	default:
	}
	if err := s.tokenGuard.check(s.store.Standing().Settings); err != nil {
		return err
	}
	switch err := s.store.Standing().Err; { // its text is for operators only
	case err == nil && s.nodes != nil && s.store.Standing().NameTaken:
		return refuse("unavailable", "", "another live server uses the same node name, so this server delivers nothing until the other one stops: start this server with another --node")
	case err == nil && s.nodes != nil && s.store.Standing().Nodes == 0:
		return refuse("unavailable", "", "this server could not send a heartbeat yet, so it delivers nothing: its log has the reason")
	case err == nil:
		return nil
	case storeLost(err) != nil, errors.Is(err, task.ErrStoreUnfit):
		return err // problemOf has texts for these
	case errors.Is(err, task.ErrUnavailable):
		return task.ErrUnavailable
	}
	return task.ErrClosed
}

// egress replies whether tasks are allowed to call a URL. The server resolves
// the host, which can take seconds, but does not connect.
func (s *Server) egress(w http.ResponseWriter, r *request) error {
	engine := s.cfg.Engine
	if engine == nil || engine.Egress() == nil {
		return unsupported("this server has no explanation of its egress policy")
	}
	url := r.query.Get("url")
	if url == "" {
		return refuse("required", "url", "missing: send the URL to check")
	}
	verdict := engine.Egress()(r.Context(), url)
	if verdict.Host == "" {
		return refuse("bad_url", "url", verdict.Problem)
	}
	return s.reply(w, r, http.StatusOK, verdict)
}
