package api

import (
	"io"
	"net/http"

	"github.com/foliot/foliot/internal/wire"
)

func (s *Server) healthz(w http.ResponseWriter, r *request) error {
	s.write(r.Context(), w, jsonType, http.StatusOK, wire.Health{Status: "ok", Version: s.cfg.Version})
	return nil
}

func (s *Server) readyz(w http.ResponseWriter, r *request) error {
	if err := s.ready(); err != nil {
		return err
	}
	return s.healthz(w, r)
}

func (s *Server) document(w http.ResponseWriter, _ *request) error {
	w.Header().Set("Content-Type", jsonType)
	_, _ = w.Write(s.openAPI()) // the client went away: nobody is left to be told
	return nil
}

// root tells a person with a browser or curl what this is.
func (s *Server) root(w http.ResponseWriter, _ *request) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, `Foliot: call this URL at this time.

  POST /v1/tasks       {"delay": "5s", "http": {"url": "http://localhost:9000/"}}
  GET  /v1/tasks       what there is
  GET  /openapi.json   everything else
  GET  /readyz         does it work?
`)
	return nil
}
