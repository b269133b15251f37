package api

import (
	"errors"
	"sync/atomic"

	"github.com/foliot/foliot/internal/task"
)

// latch remembers that the server asked for tokens once. Settings never lose all
// their tokens by an edit. So settings without tokens are lost settings, and must
// not open a server that was closed to strangers: it stays closed until it is
// started again. Every request reads and writes the latch.
type latch struct{ secured atomic.Bool }

// lost returns task.ErrSettingsLost if settings, which hold now, have lost their tokens.
func (l *latch) lost(settings *task.Settings) error {
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

// storeLost returns err if it says that the store is not the one that this server knows.
func storeLost(err error) error {
	if err != nil && (errors.Is(err, task.ErrStoreReplaced) || errors.Is(err, task.ErrSettingsLost)) {
		return err
	}
	return nil
}

// closed returns why r is refused with any token: the store, or its settings, are
// lost. Metrics and examinations are not refused while the settings hold: they
// name the loss.
func (s *Server) closed(settings *task.Settings, rt *route) error {
	if err := s.latch.lost(settings); err != nil || rt.watches {
		return err
	}
	return storeLost(s.store.Err())
}
