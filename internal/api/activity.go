package api

import (
	"net/http"

	"github.com/foliot/foliot/internal/activity"
)

var outcomeParam = param{name: "outcome", about: "Only attempts with one of these outcomes.", enum: []string{"delivered", "failed", "snoozed", "refused", "interrupted", "lost_lease"}, repeated: true}

func (s *Server) attempts(w http.ResponseWriter, r *request) error {
	if s.cfg.Engine == nil {
		return unsupported("this server has no record of recent attempts")
	}
	list := s.cfg.Engine.RecentAttempts(activity.Filter{
		Namespace: r.oneOrAll(), Queue: r.query.Get("queue"), Outcomes: r.query.Values["outcome"], Since: r.since(), Limit: r.query.number(limitParam, defaultLimit),
	}, r.operator)
	for i := range list.Attempts {
		if a := &list.Attempts[i]; r.blindTo(a.Namespace) {
			a.Error = errorWithoutReply(a.Destination, a.Status, a.Error)
		}
	}
	list.Node = s.nodeName()
	return s.reply(w, r, http.StatusOK, list)
}

// oneOrAll returns the namespace of the request, or "" for an operator that
// named none.
func (r *request) oneOrAll() string {
	if r.all {
		return ""
	}
	return r.namespace
}

// nodeName returns the name of this server among those that share the store, or
// "" if the store is embedded.
func (s *Server) nodeName() string {
	if s.nodes == nil {
		return ""
	}
	return s.store.Standing().Node
}
