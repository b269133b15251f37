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

// ended returns the tokens of a namespace that can be forgotten at now, the
// earliest end first: invalid tokens that have made no token that is still kept.
// One token of the server always stays: see Secured.
func (s *Settings) ended(namespace string, now task.Millis) (list []*AccessToken) {
	for _, r := range s.List(TokenKind, namespace) {
		if t := r.(*AccessToken); s.forgettable(t, now) {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *AccessToken) int {
		return cmp.Or(cmp.Compare(a.EndedAt(now), b.EndedAt(now)), cmp.Compare(a.ID, b.ID))
	})
	if len(list) == s.hashes.size {
		list = list[:max(0, len(list)-1)]
	}
	return list
}

func (s *Settings) forgettable(t *AccessToken, now task.Millis) bool {
	made := false
	s.children.walk(childKey(t.ID, ""), func(key SettingKey, _ *AccessToken) bool {
		made = key.Namespace == t.ID
		return false
	})
	return !made && !t.Holds(now)
}

// OldTokens returns the tokens that ForgetTokens can forget: the tokens that ended
// at or before until and, for a namespace with more than MaxTokens, the tokens
// that ended first. The cost is O(tokens).
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

// ForgetTokens removes the records of ended tokens, a few at a time, without an
// audit entry, because the tokens were revoked or expired long ago.
type ForgetTokens struct{ Keys []SettingKey } // from OldTokens

func (e ForgetTokens) Action() string { return "" }

func (e ForgetTokens) Target() SettingKey { return SettingKey{Kind: TokenKind} }

// Apply implements Edit. It never fails, and never forgets the last token: its
// record means that requests need a token (Secured).
func (e ForgetTokens) Apply(now task.Millis, s *Settings) (changes []SettingChange, _ error) {
	for _, key := range e.Keys {
		if t, ok := s.Get(key).(*AccessToken); ok && s.forgettable(t, now) && len(changes)+1 < s.hashes.size {
			changes = append(changes, SettingChange{Key: key})
		}
	}
	return changes, nil
}

// forgetParents removes ended tokens of a namespace that have made tokens that are
// still kept. These then count as made by the parent of the removed token, so
// Descendants still finds them. Without forgetParents a program that replaces its
// own token, again and again, would fill its namespace with ended tokens, each the
// parent of the next.
func (s *Settings) forgetParents(namespace string, now task.Millis) (changes []SettingChange) {
	type parent struct {
		key      SettingKey
		children int
		ended    task.Millis
	}
	var parents []parent
	for _, r := range s.List(TokenKind, namespace) {
		if t := r.(*AccessToken); !t.Holds(now) {
			n := s.children.rank(childKey(t.ID+"\x00", "")) - s.children.rank(childKey(t.ID, ""))
			parents = append(parents, parent{t.Key(), n, t.EndedAt(now)})
		}
	}
	slices.SortFunc(parents, func(a, b parent) int { // parents with few children first, because each child is written again
		return cmp.Or(cmp.Compare(a.children, b.children), cmp.Compare(a.ended, b.ended), cmp.Compare(a.key.Name, b.key.Name))
	})
	for _, p := range parents[:min(len(parents), forgetAtOnce)] {
		if len(changes)+p.children > 2*forgetAtOnce && len(changes) > 0 {
			break
		}
		t := s.Get(p.key).(*AccessToken) // its parent may be another one by now
		begin := len(changes)
		s.children.walk(childKey(t.ID, ""), func(key SettingKey, child *AccessToken) bool {
			if key.Namespace == t.ID {
				c := *child
				c.Parent = t.Parent
				changes = append(changes, SettingChange{c.Key(), &c})
			}
			return key.Namespace == t.ID
		})
		changes = append(changes, SettingChange{Key: p.key})
		s = s.With(changes[begin:]...)
	}
	return changes
}
