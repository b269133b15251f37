package api

import (
	"net/http"
)

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
