package settings

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Scope is the set of operations that an access token allows, and includes those of the
// scopes before it.
type Scope uint8

// The scopes, with numbers that are part of the disk format.
const (
	ScopeRead  Scope = 1 + iota // see tasks, queues and counts
	ScopeWrite                  // change tasks
	ScopeAdmin                  // change queues, tokens and secrets, and read the audit log
)

var scopeNames = [...]string{ScopeRead: "read", ScopeWrite: "write", ScopeAdmin: "admin"}

// Valid reports whether s is one of the scopes above.
func (s Scope) Valid() bool { return s >= ScopeRead && s <= ScopeAdmin }

// String returns the scope's word.
func (s Scope) String() string {
	if !s.Valid() {
		return fmt.Sprintf("Scope(%d)", uint8(s))
	}
	return scopeNames[s]
}

// ParseScope is the inverse of String.
func ParseScope(word string) (Scope, bool) {
	for s := ScopeRead; s <= ScopeAdmin; s++ {
		if scopeNames[s] == word {
			return s, true
		}
	}
	return 0, false
}

// AccessToken is the record of a token, with the token's hash instead of the token.
type AccessToken struct {
	ID        string `json:"id"` // the beginning of the hash: it reveals nothing of the token
	Namespace string `json:"namespace"`
	Scope     Scope  `json:"scope"`
	Label     string `json:"label,omitempty"`
	Hash      string `json:"hash"` // SHA-256 of the token, hexadecimal

	// Parent is the ID of the token that made this token, or "". A token expires no
	// later than its parent. Revoking the parent revokes this token only on request
	// (Descendants), so that an operator can replace a token without ending the tokens
	// that it made.
	Parent string `json:"parent,omitempty"`

	CreatedAt  task.Millis `json:"created_at"`
	ExpiresAt  task.Millis `json:"expires_at,omitempty"` // zero means never
	RevokedAt  task.Millis `json:"revoked_at,omitempty"` // zero means that the token is not revoked
	LastUsedAt task.Millis `json:"last_used_at,omitempty"`
}

func (t *AccessToken) Key() SettingKey { return SettingKey{TokenKind, t.Namespace, t.ID} }

// Holds reports whether the token is accepted at now.
func (t *AccessToken) Holds(now task.Millis) bool {
	return t.RevokedAt == 0 && (t.ExpiresAt == 0 || now < t.ExpiresAt)
}

// Operator reports whether the token is valid in all namespaces.
func (t *AccessToken) Operator() bool { return t.Namespace == AllNamespaces }

const (
	// TokenPrefix begins each token, so that people and scanners of
	// repositories can recognise one.
	TokenPrefix = "foliot_"
	tokenBytes  = 32
	tokenIDLen  = 16
)

// MintToken returns a new token and its hash. The token is TokenPrefix, 256 random bits
// and a checksum.
func MintToken() (token, hash string) {
	var raw [tokenBytes + 4]byte
	_, _ = rand.Read(raw[:tokenBytes]) // never fails
	binary.BigEndian.PutUint32(raw[tokenBytes:], crc32.ChecksumIEEE(raw[:tokenBytes]))
	token = TokenPrefix + base64.RawURLEncoding.EncodeToString(raw[:])
	return token, hashToken(token)
}

// HashToken returns the hash of a token that a client sent, and false if the text cannot
// be a token, so that a typing error costs no lookup.
func HashToken(token string) (hash string, ok bool) {
	text, ok := strings.CutPrefix(token, TokenPrefix)
	if !ok || len(text) != base64.RawURLEncoding.EncodedLen(tokenBytes+4) {
		return "", false
	}
	raw, err := base64.RawURLEncoding.DecodeString(text) // ignores line breaks, so the result may be shorter
	if err != nil || len(raw) != tokenBytes+4 || binary.BigEndian.Uint32(raw[tokenBytes:]) != crc32.ChecksumIEEE(raw[:tokenBytes]) {
		return "", false
	}
	return hashToken(token), true
}

func hashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// MaxTokens bounds the tokens of one namespace, including invalid ones, and MaxLabel the
// bytes of their labels.
const (
	MaxTokens = 10_000
	MaxLabel  = 256

	// forgetAtOnce is the number of ended tokens that a full namespace forgets
	// when a new token is made.
	forgetAtOnce = 100
)

// AddToken makes a token.
type AddToken struct {
	Namespace string // or AllNamespaces
	Scope     Scope
	Label     string
	Hash      string      // from MintToken
	ExpiresAt task.Millis // zero means that it expires with its parent, or never
	Parent    string      // the ID of the token that makes it; empty means none
	Trusted   task.Millis // a full namespace forgets tokens that ended by then; zero means now

	// First is set if the caller has no token, and is therefore allowed to make only the
	// first token. Of several such calls at the same time, one succeeds.
	First bool
}

// The errors of AddToken.First.
var (
	// ErrSecured means that the caller has no token, and that another request
	// created the first token after the caller was authenticated.
	ErrSecured = errors.New("another request created the first token: from now on every request needs a token")
	// ErrFirstToken means that the requested token cannot manage the server, which the
	// first token must be able to do.
	ErrFirstToken = errors.New("the first token must be an operator's with scope admin: otherwise no token could manage the server")
)

func (e AddToken) Action() string { return "token.create" }

func (e AddToken) Target() SettingKey {
	return SettingKey{TokenKind, e.Namespace, e.Hash[:tokenIDLen]}
}

// Apply implements Edit. Errors: *MissingError for the namespace, *FieldError, *BusyError,
// ErrSecured, ErrFirstToken.
func (e AddToken) Apply(now task.Millis, s *Settings) ([]SettingChange, error) {
	switch {
	case e.First && s.Secured():
		return nil, ErrSecured
	case e.Namespace != AllNamespaces && s.Namespace(e.Namespace) == nil:
		return nil, &MissingError{"namespace", e.Namespace}
	case !e.Scope.Valid():
		return nil, &task.FieldError{Path: "scope", Code: "bad_scope", Detail: "must be one of read, write, admin"}
	case len(e.Label) > MaxLabel || !task.PlainText(e.Label):
		return nil, &task.FieldError{Path: "label", Code: "bad_label", Detail: fmt.Sprintf("must have at most %d bytes of text without control characters", MaxLabel)}
	case e.ExpiresAt != 0 && e.ExpiresAt <= now:
		return nil, &task.FieldError{Path: "expires_at", Code: "out_of_range", Detail: "the token would have expired already"}
	case e.First && (e.Namespace != AllNamespaces || e.Scope != ScopeAdmin):
		return nil, ErrFirstToken
	}
	if e.Parent != "" {
		parent := s.TokenByID(e.Parent)
		switch {
		case parent == nil || !parent.Holds(now) || !parent.Operator() && parent.Namespace != e.Namespace:
			return nil, &MissingError{"token", e.Parent}
		case e.ExpiresAt == 0:
			e.ExpiresAt = parent.ExpiresAt
		case parent.ExpiresAt != 0 && e.ExpiresAt > parent.ExpiresAt:
			return nil, &task.FieldError{Path: "expires_at", Code: "out_of_range", Detail: "must not be after the expiry of the token that creates it, " + parent.ExpiresAt.Time().UTC().Format(time.RFC3339)}
		}
	}
	changes := change(&AccessToken{
		ID: e.Target().Name, Namespace: e.Namespace, Scope: e.Scope, Label: e.Label,
		Hash: e.Hash, Parent: e.Parent, CreatedAt: now, ExpiresAt: e.ExpiresAt,
	})
	if s.count(TokenKind, e.Namespace) < MaxTokens {
		return changes, nil
	}
	forgotten := s.makeRoom(e.Namespace, cmp.Or(e.Trusted, now))
	if len(forgotten) == 0 {
		return nil, &BusyError{"namespace", e.Namespace, fmt.Sprintf("it has %d tokens, the maximum: revoke some", MaxTokens)}
	}
	return append(changes, forgotten...), nil
}

// ErrLastToken reports that no token that manages the server would be left.
var ErrLastToken = errors.New("this is the last valid operator's token with scope admin")

// RevokeToken ends a token, but its record stays until ForgetTokens, so that ids in the
// audit log can still be looked up.
type RevokeToken struct {
	Namespace, ID string
	Force         bool // revoke it even if it is the last one that can manage the server
	// With is set if the caller revokes the descendants next, so the check for the last
	// managing token treats the descendants as revoked.
	With bool
}

func (e RevokeToken) Action() string { return "token.revoke" }

func (e RevokeToken) Target() SettingKey { return SettingKey{TokenKind, e.Namespace, e.ID} }

// Apply implements Edit, and changes nothing if the token was already revoked. Errors:
// *MissingError, ErrLastToken.
func (e RevokeToken) Apply(now task.Millis, s *Settings) ([]SettingChange, error) {
	old, ok := s.Get(e.Target()).(*AccessToken)
	if !ok {
		return nil, &MissingError{"token", e.ID}
	}
	revoked := []*AccessToken{old}
	if e.With && !e.Force && old.Operator() { // other tokens have made none that manages the server
		revoked = append(revoked, s.Descendants(old)...)
	}
	switch {
	case !e.Force && s.lastManagers(revoked, now):
		return nil, ErrLastToken
	case old.RevokedAt != 0:
		return nil, nil
	}
	t := *old
	t.RevokedAt = now
	return change(&t), nil
}

// Descendants returns the tokens that the token made, directly or through other
// tokens, each after its parent. The cost is O(tokens of its namespace), or O(tokens)
// for an operator's token.
func (s *Settings) Descendants(maker *AccessToken) []*AccessToken {
	made := s.children(maker.Namespace)
	all := made[maker.ID]
	for next := 0; next < len(all); next++ {
		all = append(all, made[all[next].ID]...)
	}
	return all
}

// children returns the tokens that each token of a namespace made, by the ID of the
// maker. It reads the tokens of other namespaces only for AllNamespaces, because
// only an operator's token makes tokens of another namespace.
func (s *Settings) children(namespace string) map[string][]*AccessToken {
	if namespace == AllNamespaces {
		namespace = ""
	}
	made := map[string][]*AccessToken{}
	for _, r := range s.List(TokenKind, namespace) {
		if t := r.(*AccessToken); t.Parent != "" {
			made[t.Parent] = append(made[t.Parent], t)
		}
	}
	return made
}

func (t *AccessToken) manages(now task.Millis) bool {
	return t.Operator() && t.Scope == ScopeAdmin && t.Holds(now)
}

// lastManagers reports whether one of revoked manages the server at now, and no
// other token does.
func (s *Settings) lastManagers(revoked []*AccessToken, now task.Millis) bool {
	if !slices.ContainsFunc(revoked, func(t *AccessToken) bool { return t.manages(now) }) {
		return false
	}
	gone := map[string]bool{}
	for _, t := range revoked {
		gone[t.ID] = true
	}
	return !s.managed(now, gone)
}

// Managed reports whether a token manages the server at now: a valid operator's
// token of scope admin.
func (s *Settings) Managed(now task.Millis) bool { return s.managed(now, nil) }

// managed is Managed without the tokens with IDs in gone.
func (s *Settings) managed(now task.Millis, gone map[string]bool) (found bool) {
	s.records.walk(SettingKey{Kind: TokenKind, Namespace: AllNamespaces}, func(key SettingKey, r Setting) bool {
		t, ok := r.(*AccessToken)
		if !ok || key.Namespace != AllNamespaces {
			return false
		}
		found = !gone[t.ID] && t.manages(now)
		return !found
	})
	return found
}

// UseToken records the time at which a token was last used. It is not audited,
// because no client requests it and no decision depends on it.
type UseToken struct {
	Namespace, ID string
	At            task.Millis
}

func (e UseToken) Action() string { return "" }

func (e UseToken) Target() SettingKey { return SettingKey{TokenKind, e.Namespace, e.ID} }

// Apply implements Edit, and never fails.
func (e UseToken) Apply(_ task.Millis, s *Settings) ([]SettingChange, error) {
	old, ok := s.Get(e.Target()).(*AccessToken)
	if !ok || old.LastUsedAt >= e.At {
		return nil, nil
	}
	t := *old
	t.LastUsedAt = e.At
	return change(&t), nil
}
