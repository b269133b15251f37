package client

import (
	"context"
	"iter"
	"net/http"
	"time"
)

// Tokens manages a server's access tokens; its methods need a token of scope
// admin.
type Tokens struct{ conn *conn }

// Scope is the set of rights of a token.
type Scope string

// The scopes, each with all rights of the one before it.
const (
	ScopeRead  Scope = "read"  // read tasks, queues and counts
	ScopeWrite Scope = "write" // change tasks
	ScopeAdmin Scope = "admin" // change queues, tokens and secrets, and read the audit log
)

// AllNamespaces is the namespace of an operator's token, which is valid for all
// namespaces and for the server itself.
const AllNamespaces = "*"

// TokenSpec describes a token to create.
type TokenSpec struct {
	Scope     Scope
	Namespace string // the namespace of the token. Default: the client's namespace
	Label     string // a name for humans
	// ExpiresIn or ExpiresAt sets the expiry, which must not be later than that
	// of the client's own token. If both are zero, the new token expires with
	// the client's own token.
	ExpiresIn time.Duration
	ExpiresAt time.Time
}

// Token is a token as the server returns it.
type Token struct {
	ID         string
	Namespace  string
	Scope      Scope
	Label      string
	Parent     string // ID of the token that created this one; "": none
	State      string // "active", "expired" or "revoked"
	CreatedAt  time.Time
	ExpiresAt  time.Time // zero: never
	RevokedAt  time.Time // zero: not revoked
	LastUsedAt time.Time // to about a minute; zero: never
	// ActiveChildren is the number of active tokens that this one created,
	// directly or through other tokens. Only a revoke returns it.
	ActiveChildren int
	// Token is the secret for Options.Token, which only Create returns, because
	// the server cannot show it again.
	Token string
	// Unconfirmed has the nodes that had not applied the revocation two seconds
	// after it: they may still take the token. Repeat the Revoke to see if they
	// have.
	Unconfirmed []string
}

// String describes the token for a log, without its secret.
func (t Token) String() string {
	return "token " + t.ID + " (" + t.Namespace + ", " + string(t.Scope) + ", " + t.State + ")"
}

// Create creates a token. As soon as one token exists, every request needs one,
// so the first must be an operator's token of scope admin. The client does not
// repeat this call: if its reply is lost, find the token by its label, revoke
// it and create another.
func (ts Tokens) Create(ctx context.Context, s TokenSpec) (*Token, error) {
	t := new(Token)
	_, err := ts.conn.do(ctx, &call{op: "create a token", method: http.MethodPost, path: "/tokens", send: s, into: t})
	return orNil(t, err)
}

// List returns the tokens of the client's namespace, including revoked and
// expired ones, or of all namespaces for an operator without a namespace. An
// error is the last item.
func (ts Tokens) List(ctx context.Context) iter.Seq2[*Token, error] {
	return pages[Token](ctx, ts.conn, "list tokens", "/tokens", "tokens", params{})
}

// Revoke invalidates a token from now on, and other servers of the same store
// follow within a second. Errors: ErrNotFound, ErrLastToken.
func (ts Tokens) Revoke(ctx context.Context, id string) (*Token, error) {
	return ts.RevokeWith(ctx, id, RevokeOptions{})
}

// ForceRevoke is Revoke, and also revokes the last operator's token of scope
// admin. After that the server cannot be managed until it is stopped and
// `foliot token create --data` has created another.
func (ts Tokens) ForceRevoke(ctx context.Context, id string) (*Token, error) {
	return ts.RevokeWith(ctx, id, RevokeOptions{Force: true})
}

// RevokeOptions are the options of RevokeWith.
type RevokeOptions struct {
	Force    bool // also revoke the last operator's token of scope admin: see ForceRevoke
	Children bool // also revoke the tokens that it created, directly or through other tokens
}

// RevokeWith is Revoke with options. Without Children the children stay valid,
// so that a token can be replaced. If a token leaked, revoke them too, because
// its holder may have created some.
func (ts Tokens) RevokeWith(ctx context.Context, id string, o RevokeOptions) (*Token, error) {
	query := params{}
	query.add("force", o.Force)
	query.add("children", o.Children)
	t, _, err := named[Token](ctx, ts.conn, "revoke token", "/tokens/", id, &call{method: http.MethodDelete, query: query, repeatable: true})
	return t, err
}

// Secrets manages the secrets that sign the requests of the client's namespace;
// its methods need a token of scope admin.
type Secrets struct{ conn *conn }

// SecretSpec describes a signing secret to create.
type SecretSpec struct {
	// Queue limits the secret to one queue, whose requests are then signed with
	// its own secrets alone. Default: the secret signs for all queues of the
	// namespace without one.
	Queue  string
	Secret string // your own, as Standard Webhooks writes it: whsec_…. Default: the server creates one
	// Overlap is the time for which the existing secrets still sign. Default:
	// until they are deleted. With the first secret of a queue, those of the
	// namespace stop signing for that queue at once unless Overlap is set.
	Overlap time.Duration
}

// Secret is a signing secret as the server returns it.
type Secret struct {
	ID                  string
	Queue               string // the only queue it signs for; "": all queues of the namespace without a secret of their own
	CreatedAt           time.Time
	ExpiresAt           time.Time // zero: it signs until it is deleted
	NamespaceSignsUntil time.Time // for a queue's secret: until then the namespace's secrets sign for the queue too; zero: they do not
	// Secret is the key for the receivers, which only Create returns.
	Secret      string
	Unconfirmed []string // after a Delete: the nodes that may still sign with it
}

// String describes the secret for a log, without its key.
func (s Secret) String() string { return "secret " + s.ID }

// Create creates a signing secret. At most two secrets of a namespace, and two
// of a queue, sign at a time. The client does not repeat this call: if its
// reply is lost, delete the newest secret and create another.
func (ss Secrets) Create(ctx context.Context, s SecretSpec) (*Secret, error) {
	made := new(Secret)
	_, err := ss.conn.do(ctx, &call{op: "create a secret", method: http.MethodPost, path: "/secrets", send: s, into: made})
	return orNil(made, err)
}

// List returns the active secrets: those of the namespace, then those of its
// queues by queue name, the newest first in each group.
func (ss Secrets) List(ctx context.Context) ([]*Secret, error) {
	var list struct {
		Secrets []*Secret `json:"secrets"`
	}
	_, err := ss.conn.do(ctx, &call{op: "list secrets", method: http.MethodGet, path: "/secrets", repeatable: true, into: &list})
	return list.Secrets, err
}

// Delete deletes a signing secret, which then signs nothing. Errors:
// ErrNotFound.
func (ss Secrets) Delete(ctx context.Context, id string) (*Secret, error) {
	s, _, err := named[Secret](ctx, ss.conn, "delete secret", "/secrets/", id, &call{method: http.MethodDelete})
	return s, err
}

func orNil[T any](v *T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}
