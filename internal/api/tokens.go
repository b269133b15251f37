package api

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

func (s *Server) listTokens(w http.ResponseWriter, r *request) error {
	list := r.tokens(s.now())
	slices.SortFunc(list, func(a, b *task.AccessToken) int { return cmp.Compare(a.ID, b.ID) })
	part, next, err := pageOf(r.query, list, func(t *task.AccessToken) string { return t.ID })
	if err != nil {
		return err
	}
	reply := wire.TokenList{Tokens: make([]wire.Token, len(part)), NextCursor: next}
	for i, t := range part {
		reply.Tokens[i] = showToken(t, s.now())
	}
	s.write(r.Context(), w, jsonType, http.StatusOK, reply)
	return nil
}

// tokens returns those that r is about: its namespace's; an operator's who named
// none, all of them.
func (r *request) tokens(now task.Millis) (list []*task.AccessToken) {
	namespace := r.namespace
	if r.all {
		namespace = ""
	}
	since := r.since()
	for _, setting := range r.settings.List(task.TokenKind, namespace) {
		if t := setting.(*task.AccessToken); t.CreatedAt >= since || t.Holds(now) {
			list = append(list, t)
		}
	}
	return list
}

func (s *Server) createToken(w http.ResponseWriter, r *request) error {
	token, hash := task.MintToken()
	e := task.AddToken{Namespace: r.namespace, Hash: hash}
	if err := s.readSetting(w, r, func(rd *reader) error { return rd.decodeToken(&e, s.now) }); err != nil {
		return err
	}
	switch {
	case !r.operator && e.Namespace != r.namespace:
		return refuse("wrong_namespace", "namespace", "the token that asks belongs to another namespace: leave the field out")
	case !r.settings.Secured() && (e.Namespace != task.AllNamespaces || e.Scope != task.ScopeAdmin):
		// From the first token on every request needs one.
		return refuse("first_token", "", `the first token is an operator's, {"namespace": "*", "scope": "admin"}: without one nobody could manage the server any more`)
	}
	changes, err := s.configure(w, r, "token", e)
	if err != nil {
		return err
	}
	made := changes[0].Value.(*task.AccessToken)
	shown := showToken(made, s.now())
	shown.Token = token
	w.Header().Set("Location", tokensPath+"/"+made.ID)
	s.write(r.Context(), w, jsonType, http.StatusCreated, shown)
	return nil
}

func (s *Server) revokeToken(w http.ResponseWriter, r *request) error {
	if err := noBody(r.Request); err != nil {
		return err
	}
	force, err := boolean(r.query, "force")
	if err != nil {
		return err
	}
	id := r.id()
	list := r.tokens(s.now())
	i := slices.IndexFunc(list, func(t *task.AccessToken) bool { return t.ID == id })
	if i < 0 {
		return &task.MissingError{What: "token", Name: id}
	}
	key := list[i].Key()
	if _, err := s.configure(w, r, "token", task.RevokeToken{Namespace: key.Namespace, ID: key.Name, Force: force}); err != nil {
		return err
	}
	s.write(r.Context(), w, jsonType, http.StatusOK, showToken(r.settings.Get(key).(*task.AccessToken), s.now()))
	return nil
}

// id returns the id that r's path names, as far as any is long: errors repeat it.
func (r *request) id() string {
	id := r.PathValue("id")
	return id[:min(len(id), 64)]
}

// decodeToken reads what token is asked for.
func (r *reader) decodeToken(e *task.AddToken, now func() task.Millis) error {
	until := end{now: now}
	scoped := false
	err := r.object(func(key []byte) (err error) {
		switch string(key) {
		case "scope":
			scoped = true
			e.Scope, err = r.scope()
		case "namespace":
			e.Namespace, err = r.namespace()
		case "label":
			e.Label, err = r.text()
		case "expires_in":
			err = until.read(r, key, (*reader).ahead)
		case "expires_at":
			err = until.read(r, key, (*reader).later)
		default:
			err = refuse("unknown_field", "", "no such field; there are scope, namespace, label, expires_in and expires_at")
		}
		return err
	})
	if err == nil && !scoped {
		err = refuse("required", "scope", "say what the token may: read, write or admin")
	}
	e.ExpiresAt = until.at
	return err
}

func (r *reader) scope() (task.Scope, error) {
	word, err := r.text()
	if err != nil {
		return 0, err
	}
	scope, ok := task.ParseScope(word)
	if !ok {
		err = refuse("bad_scope", "", "a scope is read, write or admin")
	}
	return scope, err
}

// namespace reads whom a token is for.
func (r *reader) namespace() (string, error) {
	name, err := r.text()
	if err == nil && name != task.AllNamespaces {
		err = task.ValidateName("", name)
	}
	return name, err
}

// showToken returns t as the API shows it now.
func showToken(t *task.AccessToken, now task.Millis) wire.Token {
	shown := wire.Token{
		ID: t.ID, Namespace: t.Namespace, Scope: t.Scope.String(), Label: t.Label, State: "active",
		CreatedAt: showTime(t.CreatedAt), ExpiresAt: showOptional(t.ExpiresAt),
		RevokedAt: showOptional(t.RevokedAt), LastUsedAt: showOptional(t.LastUsedAt),
	}
	switch {
	case t.RevokedAt != 0:
		shown.State = "revoked"
	case !t.Holds(now):
		shown.State = "expired"
	}
	return shown
}
