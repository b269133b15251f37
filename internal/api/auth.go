package api

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// caller is who sent a request and whose tasks it is about.
type caller struct {
	settings  *task.Settings // one snapshot for all of the request
	token     *task.AccessToken
	addr      netip.Addr
	namespace string
	// all says that the caller is an operator who named no namespace: what lists
	// the server's own records lists those of all.
	all      bool
	operator bool
}

// authenticate says who sent r, or refuses it. It looks at nothing of a request but
// its headers, so that nobody without a token makes the server do more.
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request, rt *route) (caller, error) {
	c := caller{settings: s.store.Settings(), namespace: task.DefaultNamespace, operator: true, all: true}
	if rt.public {
		return c, nil
	}
	c.addr = s.cfg.ClientAddr(r)
	if err := s.closed(c.settings, rt); err != nil {
		return c, err
	}
	if c.settings.Secured() {
		var err error
		if c.token, err = s.login(w, r, rt, c.settings, c.addr); err != nil {
			return c, err
		}
		c.operator = c.token.Operator()
		if err := authorize(w, rt, c.token); err != nil {
			s.noteRefusal(r, rt, task.ActionScopeRefused, c.token, c.addr, err)
			return c, err
		}
	}
	if err := c.selectNamespace(r); err != nil {
		if !c.operator {
			s.noteRefusal(r, rt, task.ActionScopeRefused, c.token, c.addr, err)
		}
		return c, err
	}
	return c, c.checkSuspended(rt)
}

// checkSuspended refuses all but reads to a token of a suspended namespace. An operator may still
// cancel and change tasks that exist; the store refuses creates of every caller.
func (c *caller) checkSuspended(rt *route) error {
	if c.operator || rt.method == http.MethodGet || !c.settings.Namespace(c.namespace).Suspended {
		return nil
	}
	return task.ErrSuspended
}

// login returns the token that r shows.
func (s *Server) login(w http.ResponseWriter, r *http.Request, rt *route, settings *task.Settings, addr netip.Addr) (_ *task.AccessToken, err error) {
	if _, given := r.Header["Authorization"]; !given {
		return nil, challenge(w, r, "", refuse("token_required", "Authorization", "this server wants a token: authorization: Bearer foliot_…"))
	}
	at := time.Now()
	hash, ok := bearer(r)
	// The look-up is by hash: how long it takes tells nothing of the token. It
	// comes before the limit, so that nobody's guesses lock out who shows a good
	// token from the same address: a proxy's, or a machine's that still has an old one.
	now := s.now()
	if token := settings.Token(hash, now); ok && token != nil {
		s.uses.note(token, now)
		return token, nil
	}
	defer func() { s.noteRefusal(r, rt, task.ActionTokenRefused, settings.TokenByHash(hash), addr, err) }()
	if wait := s.logins.wait(addr, at); wait > 0 {
		closing(w, r)
		return nil, waitFor(w, wait, refuse("too_many_logins", "Authorization", "too many invalid tokens from this address, and this one is invalid too: send a valid one, or wait before the next"))
	}
	s.logins.failed(addr, at)
	if !ok {
		return nil, challenge(w, r, "invalid_token", refuse("token_malformed", "Authorization", "this is no token of ours: the header is Bearer and a token, which begins with "+task.TokenPrefix+" and may have a typing error"))
	}
	return nil, challenge(w, r, "invalid_token", invalidToken())
}

// bearer returns the hash of the token in r's only Authorization header, and
// false where there cannot be one.
func bearer(r *http.Request) (hash string, ok bool) {
	values := r.Header["Authorization"]
	if len(values) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return task.HashToken(strings.Trim(token, " "))
}

// authorize checks that a token is good for a route.
func authorize(w http.ResponseWriter, rt *route, t *task.AccessToken) error {
	switch {
	case rt.operator && !t.Operator():
		return refuse("operator_only", "Authorization", "this belongs to the whole server: it takes an operator's token")
	case t.Scope < rt.scope:
		w.Header().Set("WWW-Authenticate", `Bearer realm="foliot", error="insufficient_scope", scope="`+rt.scope.String()+`"`)
		return refuse("insufficient_scope", "Authorization", "the token may "+t.Scope.String()+"; this takes one of scope "+rt.scope.String())
	}
	return nil
}

// selectNamespace sets the namespace that r is about: the token's, or the one that an
// operator names. A token of another namespace is refused before it could tell
// whether the one it names exists.
func (c *caller) selectNamespace(r *http.Request) error {
	name, err := header(r, wire.NamespaceHeader)
	if err != nil {
		return err
	}
	_, named := r.Header[wire.NamespaceHeader]
	if !c.operator {
		c.all, c.namespace = false, c.token.Namespace
		if named && name != c.namespace {
			return refuse("wrong_namespace", wire.NamespaceHeader, "the token belongs to another namespace: leave the header out")
		}
	} else if named {
		c.all, c.namespace = false, name
		if err := task.ValidateName(wire.NamespaceHeader, name); err != nil {
			return err
		}
	}
	if c.settings.Namespace(c.namespace) == nil {
		return refuse("unknown_namespace", wire.NamespaceHeader, "there is no namespace of that name")
	}
	return nil
}

// account is the account of a request that is under way. A request about the whole
// server has an account of its own: no namespace can take the room from those who would
// suspend it, revoke its tokens or watch the server.
func (c *caller) account(rt *route) string {
	if c.all || rt.operator {
		return task.AllNamespaces
	}
	return c.namespace
}

// revalidate says whether the caller of a request that was let in may still be served:
// one that goes on for long, and one that changes something, as its body may have
// come long after its headers.
func (s *Server) revalidate(c *caller) error {
	settings := s.store.Settings()
	switch {
	case c.token == nil && settings.Secured():
		return refuse("token_required", "Authorization", "this server has begun to ask for tokens")
	case c.token != nil && settings.Token(c.token.Hash, s.now()) == nil:
		return invalidToken()
	}
	return nil
}

func invalidToken() error {
	return refuse("token_invalid", "Authorization", "the token is not known here, or has expired, or was revoked")
}

// actor returns the caller as the audit log names it.
func (c *caller) actor() task.Actor {
	a := task.Actor{By: "anonymous"}
	if id := c.tokenID(); id != "" {
		a.By = "token:" + id
	}
	if c.addr.IsValid() {
		a.Addr = c.addr.String()
	}
	return a
}

// tokenID returns the id of the token that was shown, "" where none was.
func (c *caller) tokenID() string {
	if c.token == nil {
		return ""
	}
	return c.token.ID
}

// since returns when the caller's namespace was made: what is older belonged to
// another of that name, which was deleted, and is the operator's to see. 0: no bound.
func (c *caller) since() task.Millis {
	if c.operator || c.namespace == task.DefaultNamespace { // that one always was
		return 0
	}
	return c.settings.Namespace(c.namespace).CreatedAt
}

// Context returns the context in which changes are recorded as the caller's.
func (r *request) Context() context.Context {
	ctx := context.WithValue(r.Request.Context(), responseKey{}, r.out)
	if r.scope <= task.ScopeRead { // nothing is changed
		return ctx
	}
	return task.WithActor(ctx, r.actor())
}

// challenge says with err how one logs in here.
func challenge(w http.ResponseWriter, r *http.Request, code string, err error) error {
	value := `Bearer realm="foliot"`
	if code != "" {
		value += `, error="` + code + `"`
	}
	w.Header().Set("WWW-Authenticate", value)
	closing(w, r)
	return err
}

// closing ends the connection after a refusal, where net/http would read the
// body of somebody we do not know to get to the next request. HTTP/2 ends the
// stream alone.
func closing(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 && r.ProtoMajor < 2 {
		w.Header().Set("Connection", "close")
	}
}

// waitFor says with err when to come again.
func waitFor(w http.ResponseWriter, d time.Duration, err error) error {
	w.Header().Set("Retry-After", strconv.FormatInt(int64(max(1, (d+time.Second-1)/time.Second)), 10))
	return err
}

// peer returns the other end of r's connection.
func peer(r *http.Request) netip.Addr {
	if addr, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		return addr.Addr().Unmap().WithZone("")
	}
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	addr, _ := netip.ParseAddr(host) // a socket that is no TCP has none: all of them are one
	return addr.Unmap().WithZone("")
}
