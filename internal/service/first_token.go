package service

import (
	"context"
	"errors"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// IsToken reports whether text has the form of an access token.
func IsToken(text string) bool {
	_, ok := settings.HashToken(text)
	return ok
}

// FirstToken adds token to the store, with scope admin for all namespaces, if
// the store never had a token. It reports whether it added the token, and
// whether the token is valid now. by is the actor in the audit log. Servers
// that share a Redis may call it at the same time with the same token: only one
// of them adds the token.
func (s *Service) FirstToken(ctx context.Context, token, by string) (made, valid bool, err error) {
	hash, _ := settings.HashToken(token)
	now := task.CeilMillis(s.Now())
	if !s.Store.Standing().Settings.Secured() {
		e := settings.AddToken{Namespace: settings.AllNamespaces, Scope: settings.ScopeAdmin, Label: "bootstrap", Hash: hash, First: true}
		replies, err := s.Store.Configure(settings.WithActor(ctx, settings.Actor{By: by}), now, []settings.Edit{e})
		if err == nil {
			err = replies[0].Err
		}
		if !errors.Is(err, settings.ErrSecured) { // otherwise another server was faster
			return err == nil, err == nil, err
		}
	}
	return false, s.Store.Standing().Settings.Token(hash, now) != nil, nil
}
