package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Tokens are a server's access tokens. They take a token of scope admin.
type Tokens struct{ conn *conn }

// Scope is what a token may do.
type Scope string

// The scopes, each with what the one before may do.
const (
	ScopeRead  Scope = "read"  // see tasks, queues and counts
	ScopeWrite Scope = "write" // change tasks
	ScopeAdmin Scope = "admin" // change queues, tokens and secrets, and read the audit log
)

// AllNamespaces is the namespace of an operator's token: it is good for all of them, and for what belongs to the server.
const AllNamespaces = "*"

// TokenSpec is a token as it is asked for.
type TokenSpec struct {
	Scope     Scope
	Namespace string // the namespace of the token. Default: the client's namespace
	Label     string // to know it by
	// ExpiresIn or ExpiresAt end it by itself, no later than the client's own token. If both are zero, it expires when that does.
	ExpiresIn time.Duration
	ExpiresAt time.Time
}

// Token is what is known of a token.
type Token struct {
	ID         string
	Namespace  string
	Scope      Scope
	Label      string
	Parent     string // the ID of the token that made it; "": none did
	State      string // "active", "expired" or "revoked"
	CreatedAt  time.Time
	ExpiresAt  time.Time // zero: it does not expire
	RevokedAt  time.Time // zero: it is not revoked
	LastUsedAt time.Time // to about a minute; zero: never
	// ActiveChildren is how many tokens that it made, or that these made, still hold. Only a revoke returns it.
	ActiveChildren int
	// Token is what to give to Options.Token. Only Create returns it: it cannot be shown again.
	Token string
}

// String returns what a log may say of a token: not the token itself.
func (t Token) String() string {
	return "token " + t.ID + " (" + t.Namespace + ", " + string(t.Scope) + ", " + t.State + ")"
}

// Create makes a token. From the first one on every request needs one; that must be an operator's, of scope admin. The call is not repeated by itself:
// where its answer is lost, look for the token by its label, revoke it and make another.
func (ts Tokens) Create(ctx context.Context, s TokenSpec) (*Token, error) {
	body, err := s.MarshalJSON()
	if err != nil {
		return nil, err
	}
	t := new(Token)
	_, err = ts.conn.do(ctx, &call{op: "create a token", method: http.MethodPost, path: "/tokens", body: body, into: t})
	return orNil(t, err)
}

// List returns the tokens of the client's namespace, revoked and expired ones too; for an operator who names none, those of all. An error is the
// last thing it yields.
func (ts Tokens) List(ctx context.Context) iter.Seq2[*Token, error] {
	return pages[Token, tokenPage](ctx, ts.conn, "list tokens", "/tokens", url.Values{})
}

type tokenPage struct {
	Tokens []*Token `json:"tokens"`
	cursorField
}

func (p *tokenPage) items() []*Token { return p.Tokens }

// Revoke makes a token useless, from its return on; on other servers of the same store within a second. Errors: ErrNotFound, ErrLastToken.
func (ts Tokens) Revoke(ctx context.Context, id string) (*Token, error) {
	return ts.revoke(ctx, id, nil)
}

// ForceRevoke is Revoke for the last operator's token of scope admin too: nobody can manage the server then, until
// `foliot token create --data` has made another one while it is stopped.
func (ts Tokens) ForceRevoke(ctx context.Context, id string) (*Token, error) {
	return ts.revoke(ctx, id, url.Values{"force": {"true"}})
}

// RevokeOptions are the options of a revoke.
type RevokeOptions struct {
	Force    bool // revoke the last operator's token of scope admin too: see ForceRevoke
	Children bool // revoke also the tokens that it made, and those that they made
}

// RevokeWith is Revoke with options. If a token leaked, revoke its children too: its holder may have made some. Without Children they hold
// on, so that a token can be replaced.
func (ts Tokens) RevokeWith(ctx context.Context, id string, o RevokeOptions) (*Token, error) {
	query := url.Values{}
	if o.Force {
		query.Set("force", "true")
	}
	if o.Children {
		query.Set("children", "true")
	}
	return ts.revoke(ctx, id, query)
}

func (ts Tokens) revoke(ctx context.Context, id string, query url.Values) (*Token, error) {
	t := new(Token)
	_, err := ts.conn.named(ctx, "revoke token", "/tokens/", id, &call{method: http.MethodDelete, query: query, repeatable: true}, t)
	return orNil(t, err)
}

// Secrets are what the deliveries of the client's namespace are signed with. They take a token of scope admin.
type Secrets struct{ conn *conn }

// SecretSpec is a signing secret as it is asked for.
type SecretSpec struct {
	// Queue is the queue that it signs for. The callbacks of a queue with a secret of its own are signed with its own alone.
	// Default: it signs for all queues of the namespace without one.
	Queue  string
	Secret string // of one's own, as Standard Webhooks writes them: whsec_…. Default: one is made
	// Overlap is how long the present secrets also sign. Default: until they are removed. But with the
	// first secret of a queue the namespace's stop signing for it at once.
	Overlap time.Duration
}

// Secret is what is known of a signing secret.
type Secret struct {
	ID          string
	Queue       string // the queue that it signs for; "": all queues of the namespace without a secret of their own
	CreatedAt   time.Time
	ExpiresAt   time.Time // when it stops signing; zero: when it is removed
	BesideUntil time.Time // of a queue's secret: until then the namespace's secrets sign for the queue too; zero: they do not
	// Secret is what to give to the receivers. Only Create returns it: it is not shown again.
	Secret string
}

// String returns what a log may say of a secret: not the secret itself.
func (s Secret) String() string { return "secret " + s.ID }

// Create makes a signing secret. At most two of a namespace, and of a queue, sign at once. The call is not repeated by itself: where its answer is lost, delete the newest and
// make another.
func (ss Secrets) Create(ctx context.Context, s SecretSpec) (*Secret, error) {
	body, err := s.MarshalJSON()
	if err != nil {
		return nil, err
	}
	made := new(Secret)
	_, err = ss.conn.do(ctx, &call{op: "create a secret", method: http.MethodPost, path: "/secrets", body: body, into: made})
	return orNil(made, err)
}

// List returns the secrets that sign: the namespace's own, then those of its queues in the order of their names. Of each, the newest is first.
func (ss Secrets) List(ctx context.Context) ([]*Secret, error) {
	var list struct {
		Secrets []*Secret `json:"secrets"`
	}
	_, err := ss.conn.do(ctx, &call{op: "list secrets", method: http.MethodGet, path: "/secrets", repeatable: true, into: &list})
	return list.Secrets, err
}

// Delete removes a signing secret: it signs nothing any more. Errors: ErrNotFound.
func (ss Secrets) Delete(ctx context.Context, id string) (*Secret, error) {
	s := new(Secret)
	_, err := ss.conn.named(ctx, "delete secret", "/secrets/", id, &call{method: http.MethodDelete}, s)
	return orNil(s, err)
}

func orNil[T any](v *T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}
