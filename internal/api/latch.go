package api

import (
	"errors"
	"sync/atomic"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// latch remembers that the server has required tokens. No edit removes the last
// token, so settings without tokens are lost settings. They must not open a
// secured server without authentication: it stays closed until it restarts.
// Every request reads and writes the latch.
type latch struct{ secured atomic.Bool }

// lost returns task.ErrSettingsLost if the present settings have lost their
// tokens.
func (l *latch) lost(settings *settings.Settings) error {
	switch {
	case settings.Secured():
		if !l.secured.Load() {
			l.secured.Store(true)
		}
	case l.secured.Load():
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

// closed returns the reason to refuse r with any token: the store or its
// settings are lost. While the settings are valid, metrics and examinations are
// served, because they show the loss.
func (s *Server) closed(settings *settings.Settings, rt *route) error {
	if err := s.latch.lost(settings); err != nil || rt.diagnostic {
		return err
	}
	return storeLost(s.store.Err())
}
