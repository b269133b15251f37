package api

import (
	"cmp"
	"errors"
	"net/http"
	"slices"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

func (s *Server) listTokens(w http.ResponseWriter, r *request) error {
	list := r.tokens(s.now())
	slices.SortFunc(list, func(a, b *settings.AccessToken) int { return cmp.Compare(a.ID, b.ID) })
	part, next, err := pageOf(r.query, list, func(t *settings.AccessToken) string { return t.ID })
	if err != nil {
		return err
	}
	return s.writeItems(w, "tokens", len(part), func(i int) any { return showToken(part[i], s.now()) }, next)
}

// tokens returns the tokens that r may list: those of its namespace, or all of
// them for an operator that named no namespace.
func (r *request) tokens(now task.Millis) (list []*settings.AccessToken) {
	for _, setting := range r.settings.List(settings.TokenKind, r.oneOrAll()) {
		if t := setting.(*settings.AccessToken); r.seesToken(t, now) {
			list = append(list, t)
		}
	}
	return list
}

// seesToken reports whether r may see t. A token that ended before the
// namespace was created belonged to an earlier namespace of the same name.
func (r *request) seesToken(t *settings.AccessToken, now task.Millis) bool {
	return (r.all || t.Namespace == r.namespace) && (t.CreatedAt >= r.since() || t.Holds(now))
}

func (s *Server) createToken(w http.ResponseWriter, r *request) error {
	token, hash := settings.MintToken()
	e := settings.AddToken{Namespace: r.namespace, Hash: hash, Parent: r.tokenID(), First: r.token == nil, Trusted: task.FloorMillis(s.cfg.Trusted())}
	if err := s.readSetting(w, r, func(rd *reader) error { return rd.decodeToken(&e, s.now) }); err != nil {
		return err
	}
	if !r.operator && e.Namespace != r.namespace {
		return refuse("wrong_namespace", "namespace", "the token of the request belongs to another namespace: leave it out")
	}
	changes, err := s.configure(w, r, "token", e)
	if errors.Is(err, settings.ErrSecured) {
		return challenge(w, r.Request, "", err)
	}
	if err != nil {
		return err
	}
	made := changes[0].Value.(*settings.AccessToken)
	if e.First {
		s.cfg.Log.Warn("the first token was created: every request needs a token from now on, and tasks may call this machine only at addresses that --egress-allow opens", "token", made.ID)
	}
	shown := showToken(made, s.now())
	shown.Token = token
	w.Header().Set("Location", tokensPath+"/"+made.ID)
	return s.reply(w, r, http.StatusCreated, shown)
}

func (s *Server) revokeToken(w http.ResponseWriter, r *request) error {
	id, children := r.id(), r.query.is(childrenParam)
	t := r.settings.TokenByID(id)
	if t == nil || !r.seesToken(t, s.now()) {
		return &settings.MissingError{What: "token", Name: id}
	}
	if _, err := s.configure(w, r, "token", settings.RevokeToken{Namespace: t.Namespace, ID: id, Force: r.query.is(forceParam), With: children}); err != nil {
		return err
	}
	if children {
		if err := s.revokeDescendants(r, t); err != nil {
			return err
		}
	}
	now := s.now()
	shown := showToken(r.settings.Get(t.Key()).(*settings.AccessToken), now)
	for _, d := range r.settings.Descendants(t) {
		if d.Holds(now) {
			shown.ActiveChildren++
		}
	}
	shown.Unconfirmed = r.unconfirmed
	return s.replySetting(w, r, http.StatusOK, 0, "", shown)
}

// revokeDescendants revokes the tokens that a revoked token made, and their
// descendants. A revoked token makes no more tokens, so a few rounds find all.
// The edits skip the check of the caller's token, which may be one of them.
func (s *Server) revokeDescendants(r *request, maker *settings.AccessToken) error {
	for {
		var edits []settings.Edit
		for _, t := range r.settings.Descendants(maker) {
			if t.RevokedAt == 0 && (r.operator || t.Namespace == r.namespace) {
				edits = append(edits, settings.RevokeToken{Namespace: t.Namespace, ID: t.ID, Force: true})
			}
		}
		if len(edits) == 0 {
			return nil
		}
		replies, err := s.store.Configure(r.Context(), s.now(), edits)
		if err != nil {
			return err
		}
		for _, reply := range replies {
			if missing := (*settings.MissingError)(nil); reply.Err != nil && !errors.As(reply.Err, &missing) {
				return reply.Err
			}
		}
		r.settings, r.unconfirmed = s.store.Standing().Settings, replies[0].Unconfirmed
	}
}

// id returns the id in the path of r, cut to 64 bytes because errors repeat it.
func (r *request) id() string {
	id := r.PathValue("id")
	return id[:min(len(id), 64)]
}
