package settings

import (
	"cmp"
	"maps"
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
func (s *Settings) ended(namespace string, now task.Millis, children map[string][]*AccessToken) (list []*AccessToken) {
	for _, r := range s.List(TokenKind, namespace) {
		if t := r.(*AccessToken); !t.Holds(now) && len(children[t.ID]) == 0 {
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

// OldTokens returns the tokens that ForgetTokens can forget: the tokens that ended
// at or before until and, for a namespace with more than MaxTokens, the tokens
// that ended first. The cost is O(tokens).
func (s *Settings) OldTokens(now, until task.Millis) (old []SettingKey) {
	children, namespaces := s.children(AllNamespaces), map[string]bool{}
	for _, r := range s.List(TokenKind, "") {
		namespaces[r.Key().Namespace] = true
	}
	for _, namespace := range slices.Sorted(maps.Keys(namespaces)) {
		over := s.count(TokenKind, namespace) - MaxTokens
		for i, t := range s.ended(namespace, now, children) {
			if i < over || t.EndedAt(now) <= until {
				old = append(old, t.Key())
			}
		}
	}
	return old
}

// ForgetTokens removes the records of ended tokens, a few at a time, without an
// audit entry, because the tokens were revoked or expired long ago.
type ForgetTokens struct{ Keys []SettingKey } // from OldTokens

func (e ForgetTokens) Action() string { return "" }

func (e ForgetTokens) Target() SettingKey { return SettingKey{Kind: TokenKind} }

// Apply implements Edit. It never fails, and never forgets the last token: its
// record means that requests need a token (Secured).
func (e ForgetTokens) Apply(now task.Millis, s *Settings) (changes []SettingChange, _ error) {
	var children map[string][]*AccessToken
	for i, key := range e.Keys {
		if i == 0 || key.Namespace != e.Keys[i-1].Namespace {
			children = s.children(key.Namespace)
		}
		if t, ok := s.Get(key).(*AccessToken); ok && !t.Holds(now) && len(children[t.ID]) == 0 && len(changes)+1 < s.hashes.size {
			changes = append(changes, SettingChange{Key: key})
		}
	}
	return changes, nil
}

// makeRoom removes ended tokens of a namespace. The tokens that a removed one made
// then count as made by its parent, so Descendants still finds them. If tokens with
// children stayed, a program that replaces its own token, again and again, would
// fill its namespace with ended tokens, each the parent of the next.
func (s *Settings) makeRoom(namespace string, now task.Millis) (changes []SettingChange) {
	children := s.children(namespace)
	var ended []*AccessToken
	for _, r := range s.List(TokenKind, namespace) {
		if t := r.(*AccessToken); !t.Holds(now) {
			ended = append(ended, t)
		}
	}
	slices.SortFunc(ended, func(a, b *AccessToken) int { // those with few children first, because each child is written again
		return cmp.Or(cmp.Compare(len(children[a.ID]), len(children[b.ID])), cmp.Compare(a.EndedAt(now), b.EndedAt(now)), cmp.Compare(a.ID, b.ID))
	})
	for _, p := range ended[:min(len(ended), forgetAtOnce)] {
		made := children[p.ID]
		if len(changes)+len(made) > 2*forgetAtOnce && len(changes) > 0 {
			break
		}
		begin, maker := len(changes), s.Get(p.Key()).(*AccessToken).Parent // it may be another one by now
		for _, child := range made {
			if child, kept := s.Get(child.Key()).(*AccessToken); kept {
				c := *child
				c.Parent = maker
				changes = append(changes, SettingChange{c.Key(), &c})
				children[maker] = append(children[maker], &c)
			}
		}
		changes = append(changes, SettingChange{Key: p.Key()})
		s = s.With(changes[begin:]...)
	}
	return changes
}
