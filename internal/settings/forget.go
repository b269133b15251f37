package settings

import (
	"cmp"
	"slices"

	"github.com/foliot/foliot/internal/task"
)

// EndedAt returns the time at which the token became invalid, or 0 if it is
// valid at now.
func (t *AccessToken) EndedAt(now task.Millis) task.Millis {
	switch {
	case t.Holds(now):
		return 0
	case t.RevokedAt == 0 || t.ExpiresAt != 0 && t.ExpiresAt < t.RevokedAt:
		return t.ExpiresAt
	}
	return t.RevokedAt
}

// ended returns the ended tokens of a namespace, the earliest end first. One
// token of the server always stays: see Secured.
func (s *Settings) ended(namespace string, now task.Millis) (list []*AccessToken) {
	for _, r := range s.List(TokenKind, namespace) {
		if t := r.(*AccessToken); !t.Holds(now) {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *AccessToken) int {
		return cmp.Or(cmp.Compare(a.EndedAt(now), b.EndedAt(now)), cmp.Compare(a.ID, b.ID))
	})
	if len(list) == s.hashes.len() {
		list = list[:max(0, len(list)-1)]
	}
	return list
}

// OldTokens returns the tokens that ForgetTokens can forget: the tokens that ended
// at or before until and, for a namespace with more than MaxTokens, the tokens
// that ended first. It walks over all tokens.
func (s *Settings) OldTokens(now, until task.Millis) (old []SettingKey) {
	after := ""
	for {
		namespace, more := s.nextTokens(after)
		if !more {
			return old
		}
		over := s.count(TokenKind, namespace) - MaxTokens
		for i, t := range s.ended(namespace, now) {
			if i < over || t.EndedAt(now) <= until {
				old = append(old, t.Key())
			}
		}
		after = namespace
	}
}

// nextTokens returns the next namespace after one that has tokens.
func (s *Settings) nextTokens(after string) (namespace string, more bool) {
	s.records.walk(SettingKey{Kind: TokenKind, Namespace: after + "\x00"}, func(key SettingKey, _ Setting) bool {
		namespace, more = key.Namespace, key.Kind == TokenKind
		return false
	})
	return namespace, more
}

// ForgetTokens removes the records of ended tokens, a few at a time. It is not
// audited: the tokens were revoked, or expired, long ago.
type ForgetTokens struct{ Keys []SettingKey } // from OldTokens

// Action implements Edit.
func (e ForgetTokens) Action() string { return "" }

// Target implements Edit.
func (e ForgetTokens) Target() SettingKey { return SettingKey{Kind: TokenKind} }

// Apply implements Edit. It never fails, and never forgets the last token: its
// record means that requests need a token (Secured).
func (e ForgetTokens) Apply(now task.Millis, s *Settings) (changes []SettingChange, _ error) {
	for _, key := range e.Keys {
		t, ok := s.Get(key).(*AccessToken)
		if !ok || t.Holds(now) || s.hashes.len() == 1 {
			continue
		}
		forgotten := s.forget(t)
		changes, s = append(changes, forgotten...), s.With(forgotten...)
	}
	return changes, nil
}

// forget returns the changes that remove the record of a token. The tokens that
// it made then count as made by its parent, so Descendants still finds them.
func (s *Settings) forget(t *AccessToken) []SettingChange {
	changes := []SettingChange{{Key: t.Key()}}
	s.children.walk(childKey(t.ID, ""), func(key SettingKey, child *AccessToken) bool {
		if key.Namespace != t.ID {
			return false
		}
		c := *child
		c.Parent = t.Parent
		changes = append(changes, SettingChange{c.Key(), &c})
		return true
	})
	return changes
}
