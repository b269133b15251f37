package task

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
)

// Scope is what an access token allows. Each includes the ones before it.
type Scope uint8

// The scopes. The numbers are part of the disk format.
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

// AccessToken is what is kept of a token that clients show: not the token.
type AccessToken struct {
	ID        string `json:"id"` // the beginning of the hash: tells nothing of the token
	Namespace string `json:"namespace"`
	Scope     Scope  `json:"scope"`
	Label     string `json:"label,omitempty"`
	Hash      string `json:"hash"` // SHA-256 of the token, hexadecimal

	CreatedAt  Millis `json:"created_at"`
	ExpiresAt  Millis `json:"expires_at,omitempty"` // 0: never
	RevokedAt  Millis `json:"revoked_at,omitempty"` // 0: it is not
	LastUsedAt Millis `json:"last_used_at,omitempty"`
}

// Key implements Setting.
func (t *AccessToken) Key() SettingKey { return SettingKey{TokenKind, t.Namespace, t.ID} }

// Holds reports whether the token is accepted at now.
func (t *AccessToken) Holds(now Millis) bool {
	return t.RevokedAt == 0 && (t.ExpiresAt == 0 || now < t.ExpiresAt)
}

// Operator reports whether the token is of no single namespace.
func (t *AccessToken) Operator() bool { return t.Namespace == AllNamespaces }

const (
	// TokenPrefix makes a token recognisable, to people and to scanners of
	// repositories.
	TokenPrefix = "foliot_"
	tokenBytes  = 32
	tokenIDLen  = 16
)

// MintToken returns a new token, 256 random bits behind TokenPrefix with a
// checksum after them, and its hash.
func MintToken() (token, hash string) {
	var raw [tokenBytes + 4]byte
	_, _ = rand.Read(raw[:tokenBytes]) // never fails
	binary.BigEndian.PutUint32(raw[tokenBytes:], crc32.ChecksumIEEE(raw[:tokenBytes]))
	token = TokenPrefix + base64.RawURLEncoding.EncodeToString(raw[:])
	return token, hashToken(token)
}

// HashToken returns the hash of what a client shows as its token, and false
// where that cannot be one: a typing error costs no look-up.
func HashToken(token string) (hash string, ok bool) {
	text, ok := strings.CutPrefix(token, TokenPrefix)
	if !ok || len(text) != base64.RawURLEncoding.EncodedLen(tokenBytes+4) {
		return "", false
	}
	raw, err := base64.RawURLEncoding.DecodeString(text) // passes over line breaks, so that less may come out
	if err != nil || len(raw) != tokenBytes+4 || binary.BigEndian.Uint32(raw[tokenBytes:]) != crc32.ChecksumIEEE(raw[:tokenBytes]) {
		return "", false
	}
	return hashToken(token), true
}

func hashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// MaxTokens bounds the tokens of one namespace that hold, and MaxLabel their labels.
const (
	MaxTokens = 10_000
	MaxLabel  = 256
)

// AddToken makes a token.
type AddToken struct {
	Namespace string // or AllNamespaces
	Scope     Scope
	Label     string
	Hash      string // from MintToken
	ExpiresAt Millis
}

// Action implements Edit.
func (e AddToken) Action() string { return "token.create" }

// Target implements Edit.
func (e AddToken) Target() SettingKey {
	return SettingKey{TokenKind, e.Namespace, e.Hash[:tokenIDLen]}
}

// Apply implements Edit. Errors: *MissingError for the namespace, *FieldError, *BusyError.
func (e AddToken) Apply(now Millis, s *Settings) ([]SettingChange, error) {
	switch {
	case e.Namespace != AllNamespaces && s.Namespace(e.Namespace) == nil:
		return nil, &MissingError{"namespace", e.Namespace}
	case !e.Scope.Valid():
		return nil, &FieldError{"scope", "bad_scope", "a scope is read, write or admin"}
	case len(e.Label) > MaxLabel || !plainText(e.Label):
		return nil, &FieldError{"label", "bad_label", fmt.Sprintf("a label has at most %d bytes of text without control characters", MaxLabel)}
	case e.ExpiresAt != 0 && e.ExpiresAt <= now:
		return nil, &FieldError{"expires_at", "out_of_range", "the token would have expired already"}
	case s.holding(e.Namespace, now) >= MaxTokens:
		return nil, &BusyError{"namespace", e.Namespace, fmt.Sprintf("it has %d tokens that hold, as many as it may: revoke some", MaxTokens)}
	}
	return change(&AccessToken{
		ID: e.Target().Name, Namespace: e.Namespace, Scope: e.Scope, Label: e.Label,
		Hash: e.Hash, CreatedAt: now, ExpiresAt: e.ExpiresAt,
	}), nil
}

// holding returns how many tokens of a namespace hold at now.
func (s *Settings) holding(namespace string, now Millis) (n int) {
	for _, t := range s.hashes {
		if t.Namespace == namespace && t.Holds(now) {
			n++
		}
	}
	return n
}

// ErrLastToken says that without the token nobody could manage the server.
var ErrLastToken = errors.New("this is the last operator's token of scope admin that holds: make another before you revoke it, " +
	"or say force=true; then only who has the data directory can make one, while the server is stopped")

// RevokeToken ends a token. Its record stays, so that the audit log's ids go on
// meaning something.
type RevokeToken struct {
	Namespace, ID string
	Force         bool // also the last one that can manage the server
}

// Action implements Edit.
func (e RevokeToken) Action() string { return "token.revoke" }

// Target implements Edit.
func (e RevokeToken) Target() SettingKey { return SettingKey{TokenKind, e.Namespace, e.ID} }

// Apply implements Edit. Revoking twice is fine. Errors: *MissingError, ErrLastToken.
func (e RevokeToken) Apply(now Millis, s *Settings) ([]SettingChange, error) {
	old, ok := s.Get(e.Target()).(*AccessToken)
	switch {
	case !ok:
		return nil, &MissingError{"token", e.ID}
	case old.RevokedAt != 0:
		return nil, nil
	case !e.Force && s.lastManager(old, now):
		return nil, ErrLastToken
	}
	t := *old
	t.RevokedAt = now
	return change(&t), nil
}

// manages reports whether the token may do everything at now.
func (t *AccessToken) manages(now Millis) bool {
	return t.Operator() && t.Scope == ScopeAdmin && t.Holds(now)
}

// lastManager reports whether t manages the server at now, and no other token does.
func (s *Settings) lastManager(t *AccessToken, now Millis) bool {
	if !t.manages(now) {
		return false
	}
	for _, other := range s.hashes {
		if other.ID != t.ID && other.manages(now) {
			return false
		}
	}
	return true
}

// UseToken notes when a token was used last. It is no mutation: nobody asked
// for it, and nothing depends on it.
type UseToken struct {
	Namespace, ID string
	At            Millis
}

// Action implements Edit.
func (e UseToken) Action() string { return "" }

// Target implements Edit.
func (e UseToken) Target() SettingKey { return SettingKey{TokenKind, e.Namespace, e.ID} }

// Apply implements Edit. It never fails.
func (e UseToken) Apply(_ Millis, s *Settings) ([]SettingChange, error) {
	old, ok := s.Get(e.Target()).(*AccessToken)
	if !ok || old.LastUsedAt >= e.At {
		return nil, nil
	}
	t := *old
	t.LastUsedAt = e.At
	return change(&t), nil
}
