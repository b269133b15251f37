package api

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

func (s *Server) healthz(w http.ResponseWriter, r *request) error {
	return s.reply(w, r, http.StatusOK, wire.Health{Status: "ok", Version: s.cfg.Version})
}

func (s *Server) readyz(w http.ResponseWriter, r *request) error {
	if err := s.ready(); err != nil {
		return err
	}
	return s.healthz(w, r)
}

// openAPI is the description of the routes, for a server without a version, and
// referencePage has the same for people. The tests make both from the routes and from
// the types of package wire.
//
//go:embed openapi.json
var openAPI []byte

//go:embed reference.md
var referencePage string

func (s *Server) document(w http.ResponseWriter, r *request) error {
	s.openAPI().send(w, r.Request)
	return nil
}

// fixedText is a reply that never changes, encoded once, because any client may
// request it.
type fixedText struct {
	mediaType, tag string
	plain, gzipped []byte
}

func newFixedText(mediaType string, plain []byte) fixedText {
	var buf bytes.Buffer
	w, _ := gzip.NewWriterLevel(&buf, gzip.BestCompression) // no error: the level is valid
	_, _ = w.Write(plain)                                   // a buffer returns no errors
	_ = w.Close()
	return fixedText{mediaType, `"` + hex.EncodeToString([]byte(task.Digest(plain))[:8]) + `"`, plain, buf.Bytes()}
}

func (f fixedText) send(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("ETag", f.tag)
	h.Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("If-None-Match"), f.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", f.mediaType)
	body := f.plain
	if takesGzip(r.Header.Get("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		body = f.gzipped
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // no reply is possible if the client is gone
}

func takesGzip(header string) bool {
	for item := range strings.SplitSeq(header, ",") {
		coding, weight, _ := strings.Cut(strings.TrimSpace(item), ";")
		weight = strings.ReplaceAll(weight, " ", "")
		if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			return weight != "q=0" && !strings.HasPrefix(weight, "q=0.000") && weight != "q=0.0" && weight != "q=0.00"
		}
	}
	return false
}

// redirect sends a browser to a relative address, because a proxy may serve the
// root under another path.
func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusSeeOther)
	}
}

// root redirects a browser to the page, and writes a short help for a person
// with curl.
func (s *Server) root(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Page != nil && strings.Contains(r.Header.Get("Accept"), "text/html") {
		redirect("ui/")(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, `Foliot: call this URL at this time.

  POST /v1/tasks       {"delay": "5s", "http": {"url": "http://localhost:9000/"}}
  GET  /v1/tasks       list tasks
  GET  /openapi.json   all routes
  GET  /readyz         is the server ready?
  GET  /docs/          all errors and how to go on
`)
}
