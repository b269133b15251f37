package api

import (
	"errors"
	"sync/atomic"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// tokenGuard remembers whether the server has ever required tokens. No edit
// removes the last token, so a secured server whose settings have no tokens has
// lost its settings. It must not accept requests without authentication, so it
// refuses all requests until it restarts. Every request reads and writes the
// guard.
type tokenGuard struct{ secured atomic.Bool }

func (g *tokenGuard) check(settings *settings.Settings) error {
	switch {
	case settings.Secured():
		if !g.secured.Load() {
			g.secured.Store(true)
		}
	case g.secured.Load():
		return task.ErrSettingsLost
	}
	return nil
}

// storeLost returns err if it reports that the store was replaced or has lost
// its settings.
func storeLost(err error) error {
	if err != nil && (errors.Is(err, task.ErrStoreReplaced) || errors.Is(err, task.ErrSettingsLost)) {
		return err
	}
	return nil
}

// refuseIfLost returns an error if the store or its settings are lost, because
// the server must then refuse requests with any token. While the settings are
// valid, it still serves metrics and examinations, because they show the loss.
func (s *Server) refuseIfLost(settings *settings.Settings, rt *route) error {
	if err := s.tokenGuard.check(settings); err != nil || rt.diagnostic {
		return err
	}
	return storeLost(s.store.Standing().Err)
}
