package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/foliot/foliot/internal/fileaccess"
	"github.com/foliot/foliot/internal/service"
	"github.com/foliot/foliot/internal/usage"
)

const bootstrapFlag = "--bootstrap-token-file"

// readBootstrap returns the token in a file. Without a file it returns "".
func readBootstrap(path string) (token string, err error) {
	if path == "" {
		return "", nil
	}
	data, err := fileaccess.Read(path, fileaccess.SecretFile)
	if err != nil {
		return "", usage.Errorf(bootstrapFlag, "%v", err)
	}
	if token = strings.TrimSpace(string(data)); !service.IsToken(token) {
		return "", usage.Errorf(bootstrapFlag, "%s does not hold a token: make one with `(umask 077; foliot token generate > FILE)`", path)
	}
	return token, nil
}

// bootstrap makes token the first token of the store. If the store had a token
// already, it changes nothing.
func (s *Server) bootstrap(ctx context.Context, token string) error {
	made, valid, err := s.Node.FirstToken(ctx, token, "foliot serve "+bootstrapFlag)
	switch {
	case err != nil:
		return fmt.Errorf("create the first token: %w", err)
	case made:
		s.log.Info("the first token was created from the file: every request needs a token", "flag", bootstrapFlag)
	case !valid:
		s.log.Warn("the token in the file is not valid: the store had other tokens before, or this one was revoked or has expired. Remove the flag, or ask an operator for a token", "flag", bootstrapFlag)
	}
	return nil
}
