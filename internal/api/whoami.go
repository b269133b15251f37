package api

import (
	"net/http"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/wire"
)

func (s *Server) whoami(w http.ResponseWriter, r *request) error {
	me := wire.Identity{
		Namespace: r.namespace, Scope: settings.ScopeAdmin.String(), Operator: r.operator, Secured: s.cfg.Authorize != nil || r.settings.Secured(),
		Version: s.cfg.Version, Store: "embedded", Node: s.nodeName(), Durability: s.store.Standing().Durability, Now: showTime(s.now()),
	}
	if s.nodes != nil {
		me.Store = "shared"
	}
	if r.token != nil {
		token := showToken(r.token, s.now())
		me.Scope, me.Token = token.Scope, &token
	}
	return s.reply(w, r, http.StatusOK, me)
}
