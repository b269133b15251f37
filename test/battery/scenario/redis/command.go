package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/foliot/foliot/internal/redistest"
)

// detachReplicas takes the replicas from a master, and lets none come back: its clients
// do not notice.
func detachReplicas(ctx context.Context, s *redistest.Server) error {
	if err := sendCommand(ctx, s, "ACL", "SETUSER", "default", "-psync", "-sync"); err != nil {
		return err
	}
	return sendCommand(ctx, s, "CLIENT", "KILL", "TYPE", "replica")
}

// allowReplicas undoes detachReplicas, unless the server was started again.
func allowReplicas(ctx context.Context, s *redistest.Server) error {
	return sendCommand(ctx, s, "ACL", "SETUSER", "default", "+@all")
}

// sendCommand sends a command that must not fail.
func sendCommand(ctx context.Context, s *redistest.Server, words ...string) error {
	reply, err := redistest.Command(ctx, s.Addr, words...)
	if err == nil && strings.HasPrefix(reply, "-") {
		err = errors.New(reply[1:])
	}
	if err != nil {
		return fmt.Errorf("%s to the Redis at %s: %w", words[0], s.Addr, err)
	}
	return nil
}
