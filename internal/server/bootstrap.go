package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/foliot/foliot/internal/fileaccess"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/usage"
)

const bootstrapFlag = "--bootstrap-token-file"

// readBootstrap returns the token in a file, or "" without a file.
func readBootstrap(path string) (token string, err error) {
	if path == "" {
		return "", nil
	}
	data, err := fileaccess.Read(path, fileaccess.SecretFile)
	if err != nil {
		return "", usage.Errorf(bootstrapFlag, "%v", err)
	}
	token = strings.TrimSpace(string(data))
	if _, ok := settings.HashToken(token); !ok {
		return "", usage.Errorf(bootstrapFlag, "%s does not hold a token: make one with `(umask 077; foliot token generate > FILE)`", path)
	}
	return token, nil
}

// bootstrap adds token to the store, with scope admin for all namespaces, if the
// store never had a token. Servers that share a Redis may call it at the same
// time with the same token, because only one of them adds it.
func (s *Server) bootstrap(ctx context.Context, token string) error {
	hash, _ := settings.HashToken(token)
	now := task.CeilMillis(s.Node.Now())
	if !s.Node.Store.Standing().Settings.Secured() {
		e := settings.AddToken{Namespace: settings.AllNamespaces, Scope: settings.ScopeAdmin, Label: "bootstrap", Hash: hash, First: true}
		replies, err := s.Node.Store.Configure(settings.WithActor(ctx, settings.Actor{By: "foliot serve " + bootstrapFlag}), now, []settings.Edit{e})
		if err == nil {
			err = replies[0].Err
		}
		if err == nil {
			s.log.Info("the first token was created from the file: every request needs a token", "flag", bootstrapFlag)
			return nil
		}
		if !errors.Is(err, settings.ErrSecured) { // otherwise another server was faster
			return fmt.Errorf("create the first token: %w", err)
		}
	}
	if s.Node.Store.Standing().Settings.Token(hash, now) == nil {
		s.log.Warn("the token in the file is not valid: the store had other tokens before, or this one was revoked or has expired. Remove the flag, or ask an operator for a token", "flag", bootstrapFlag)
	}
	return nil
}
