package api

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// caller is the sender of a request, with the namespace of the request.
type caller struct {
	settings  *settings.Settings // one snapshot for the whole request
	token     *settings.AccessToken
	asked     *http.Request // with its headers, for Config.Authorize
	addr      netip.Addr
	namespace string
	// all is set for an operator that named no namespace. For such a caller, lists
	// of the server's own records include the records of all namespaces.
	all      bool
	operator bool
}

// authenticate returns the caller of r, or refuses r. It reads only the
// headers, so a client without a token cannot make the server do more work.
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request, rt *route) (caller, error) {
	c := caller{settings: s.store.Standing().Settings, asked: r, namespace: task.DefaultNamespace, operator: true, all: true}
	if rt.public {
		return c, nil
	}
	c.addr = s.cfg.ClientAddr(r)
	if err := s.refuseIfLost(c.settings, rt); err != nil {
		return c, err
	}
	if s.cfg.Authorize != nil || c.settings.Secured() {
		var err error
		if c.token, err = s.login(w, r, rt, c.settings, c.addr); err != nil {
			return c, err
		}
		c.operator = c.token.Operator()
		if err := authorize(w, rt, c.token); err != nil {
			s.noteRefusal(r, rt, settings.ActionScopeRefused, c.token, c.addr, err)
			return c, err
		}
	}
	if err := c.selectNamespace(r); err != nil {
		if !c.operator {
			s.noteRefusal(r, rt, settings.ActionScopeRefused, c.token, c.addr, err)
		}
		return c, err
	}
	return c, c.checkSuspended(rt)
}

// checkSuspended refuses a request with a token of a suspended namespace,
// unless it is a read. An operator can still cancel and change existing tasks,
// but the store refuses creates of every caller.
func (c *caller) checkSuspended(rt *route) error {
	if c.operator || rt.reads() || !c.settings.Namespace(c.namespace).Suspended {
		return nil
	}
	return task.ErrSuspended
}

func (s *Server) login(w http.ResponseWriter, r *http.Request, rt *route, current *settings.Settings, addr netip.Addr) (_ *settings.AccessToken, err error) {
	if s.cfg.Authorize != nil {
		if token := s.cfg.Authorize(r); token != nil {
			return token, nil
		}
		return nil, challenge(w, r, "", refuse("token_required", "Authorization", "the program that serves this API does not allow the request: pass credentials that it accepts"))
	}
	if _, given := r.Header["Authorization"]; !given {
		return nil, challenge(w, r, "", refuse("token_required", "Authorization", "this server requires a token: authorization: Bearer foliot_…"))
	}
	hash, ok := bearer(r)
	// The lookup is by hash, so its time reveals nothing about the token. It comes
	// before the limit, so that guesses do not lock out a valid token from the
	// same address. The address can be that of a proxy, or of a machine with
	// another client that still has an old token.
	now := s.now()
	if token := current.Token(hash, now); ok && token != nil {
		s.uses.note(token, now)
		return token, nil
	}
	defer func() { s.noteRefusal(r, rt, settings.ActionTokenRefused, current.TokenByHash(hash), addr, err) }()
	if wait := s.logins.take(addr, time.Now()); wait > 0 {
		closing(w, r)
		return nil, waitFor(w, wait, refuse("too_many_logins", "Authorization", "too many invalid tokens from this address, and this one is invalid too: send a valid token, or wait"))
	}
	if !ok {
		return nil, challenge(w, r, "invalid_token", refuse("token_malformed", "Authorization", "invalid token: the header must be Bearer and a token, which begins with "+settings.TokenPrefix+"; look for a typing error"))
	}
	return nil, challenge(w, r, "invalid_token", invalidToken())
}

// bearer returns the hash of the token in the only Authorization header of r,
// or false if there is no well-formed token.
func bearer(r *http.Request) (hash string, ok bool) {
	values := r.Header["Authorization"]
	if len(values) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return settings.HashToken(strings.Trim(token, " "))
}

func authorize(w http.ResponseWriter, rt *route, t *settings.AccessToken) error {
	switch {
	case rt.operator && !t.Operator():
		return refuse("operator_only", "Authorization", "this route concerns the whole server and needs an operator's token")
	case t.Scope < rt.scope:
		w.Header().Set("WWW-Authenticate", `Bearer realm="foliot", error="insufficient_scope", scope="`+rt.scope.String()+`"`)
		err := refuse("insufficient_scope", "Authorization", "the token has scope "+t.Scope.String()+", but this needs scope "+rt.scope.String())
		return &factsError{err, func(p *wire.Problem) { p.Scope = rt.scope.String() }}
	}
	return nil
}

// selectNamespace sets the namespace of the request: that of the token, or the
// one that an operator names. A token of another namespace is refused before
// the lookup, so the reply does not reveal whether the named one exists.
func (c *caller) selectNamespace(r *http.Request) error {
	name, err := header(r.Header, wire.NamespaceHeader)
	if err != nil {
		return err
	}
	_, named := r.Header[wire.NamespaceHeader]
	if !c.operator {
		c.all, c.namespace = false, c.token.Namespace
		if named && name != c.namespace {
			return refuse("wrong_namespace", wire.NamespaceHeader, "the token belongs to another namespace: leave it out")
		}
	} else if named {
		c.all, c.namespace = false, name
		if err := task.ValidateName(wire.NamespaceHeader, name); err != nil {
			return err
		}
	}
	if c.settings.Namespace(c.namespace) == nil {
		err := refuse("unknown_namespace", wire.NamespaceHeader, fmt.Sprintf("there is no namespace %q", c.namespace))
		return &factsError{err, func(p *wire.Problem) { p.Kind, p.Name = "namespace", c.namespace }}
	}
	return nil
}

// account returns the account against which a request under way counts. Requests
// about the whole server have an account of their own, so no namespace can lock
// out an operator who wants to suspend it, revoke its tokens or watch the server.
func (c *caller) account(rt *route) string {
	if rt.operator || c.all && rt.scope == settings.ScopeAdmin {
		return settings.AllNamespaces
	}
	return c.namespace
}

// revalidate checks that the caller of an accepted request is still authorized.
// Long requests call it repeatedly, and all changes call it, because a body can
// arrive long after its headers.
func (s *Server) revalidate(c *caller) error {
	settings := s.store.Standing().Settings
	switch {
	case s.cfg.Authorize != nil:
		if now := s.cfg.Authorize(c.asked); now == nil || now.Scope < c.token.Scope {
			return invalidToken()
		}
		return nil
	case c.token == nil && settings.Secured():
		return refuse("token_required", "Authorization", "this server has required a token since its first token was created: send one")
	case c.token != nil && settings.Token(c.token.Hash, s.now()) == nil:
		return invalidToken()
	}
	return nil
}

func invalidToken() error {
	return refuse("token_invalid", "Authorization", "the token is unknown, has expired or was revoked")
}

func (c *caller) actor() settings.Actor {
	a := settings.Actor{By: "anonymous", Client: client(c.asked)}
	if c.token != nil {
		a.By, a.Token = c.token.Author(), c.token.ID
	}
	if c.addr.IsValid() {
		a.Addr = c.addr.String()
	}
	return a
}

func (c *caller) blind() bool { return c.blindTo(c.namespace) }

// blindTo reports whether the caller must not see bodies, headers and replies
// of a namespace.
func (c *caller) blindTo(namespace string) bool {
	if c.token == nil || c.token.Scope > settings.ScopeRead {
		return false
	}
	n := c.settings.Namespace(namespace)
	return n != nil && n.HidePayloads
}

// refuseBodies refuses a list with bodies if the caller must not see them. A list
// without them could be taken for a copy of the tasks.
func (r *request) refuseBodies(p task.Page) error {
	if !p.Bodies || !r.blind() {
		return nil
	}
	err := refuse("insufficient_scope", includeParam.name, "the namespace hides bodies from tokens of scope read: leave it out, or use a token of scope write")
	return &factsError{err, func(p *wire.Problem) { p.Scope = settings.ScopeWrite.String() }}
}

// tokenID returns the id of the caller's token, or "" if the caller has none.
func (c *caller) tokenID() string {
	if c.token == nil {
		return ""
	}
	return c.token.ID
}

// since returns the time when the caller's namespace was created. Older records
// belonged to a deleted namespace of the same name, and only operators are
// allowed to see them. Zero means no bound.
func (c *caller) since() task.Millis {
	if c.operator || c.namespace == task.DefaultNamespace { // the default namespace has always existed
		return 0
	}
	return c.settings.Namespace(c.namespace).CreatedAt
}

// Context returns the context of the request, in which changes are recorded as
// the caller's.
func (r *request) Context() context.Context {
	if r.ctx == nil {
		r.ctx = r.Request.Context()
		if r.scope > settings.ScopeRead { // a change
			r.ctx = settings.WithActor(r.ctx, r.actor())
		}
	}
	return r.ctx
}

func challenge(w http.ResponseWriter, r *http.Request, code string, err error) error {
	value := `Bearer realm="foliot"`
	if code != "" {
		value += `, error="` + code + `"`
	}
	w.Header().Set("WWW-Authenticate", value)
	closing(w, r)
	return err
}

// closing ends the connection after a refusal, because net/http would otherwise
// read the body of an unauthenticated client to reach the next request; HTTP/2
// ends only the stream.
func closing(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 && r.ProtoMajor < 2 {
		w.Header().Set("Connection", "close")
	}
}

func waitFor(w http.ResponseWriter, d time.Duration, err error) error {
	w.Header().Set("Retry-After", strconv.Itoa(seconds(d)))
	return err
}

// seconds returns d in seconds, rounded up, and at least 1.
func seconds(d time.Duration) int { return int(max(1, (d+time.Second-1)/time.Second)) }

// peer returns the address of the other end of r's connection.
func peer(r *http.Request) netip.Addr {
	if addr, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		return addr.Addr().Unmap().WithZone("")
	}
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	addr, _ := netip.ParseAddr(host) // connections without an IP address share the zero address
	return addr.Unmap().WithZone("")
}
