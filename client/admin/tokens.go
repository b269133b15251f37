package admin

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/internal/conn"
	"github.com/foliot/foliot/internal/wire"
)

// Tokens manages a server's access tokens; its methods need a token of scope
// admin.
type Tokens struct{ conn conn.Conn }

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
	Label     string // a name for people
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
	// Token is the secret for client.Options.Token, which only Create returns, because
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
	_, err := ts.conn.Do(ctx, &conn.Call{Op: "create a token", Method: http.MethodPost, Path: "/tokens", Send: s, Into: t})
	return conn.OrNil(t, err), err
}

// List returns the tokens of the client's namespace, including revoked and
// expired ones, or of all namespaces for an operator without a namespace. An
// error is the last item.
func (ts Tokens) List(ctx context.Context) iter.Seq2[*Token, error] {
	return conn.Pages[Token](ctx, ts.conn, "list tokens", "/tokens", "tokens", conn.Params{})
}

// Revoke invalidates a token from now on, and other servers of the same store
// follow within a second. The tokens that it created stay valid, so that a token
// can be replaced. If it leaked, revoke them too, with client.Children.
//
// With client.Force it also revokes the last operator's token of scope admin.
// After that the server cannot be managed until it is stopped and
// `foliot token create --data` has created another. Errors: client.ErrNotFound,
// client.ErrLastToken. Options: client.Force,
// client.Children.
func (ts Tokens) Revoke(ctx context.Context, id string, opts ...client.CallOption) (*Token, error) {
	t, _, err := conn.Named[Token](ctx, ts.conn, "revoke token", "/tokens/", id, &conn.Call{
		Method: http.MethodDelete, Takes: "Force Children", Options: conn.Given(opts), Repeatable: true,
	})
	return t, err
}

func (s TokenSpec) MarshalJSON() ([]byte, error) { return encode[wire.TokenInput](s) }

// MarshalJSON returns the token, with its secret if that is known, as the API
// writes it.
func (t Token) MarshalJSON() ([]byte, error) { return encode[wire.Token](t) }

func (t *Token) UnmarshalJSON(data []byte) error { return decode[wire.Token](data, t) }
