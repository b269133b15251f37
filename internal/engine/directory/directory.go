// Package directory keeps tasks in a directory of this machine.
package directory

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/store/pebblestore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// Medium is a directory, which only one process at a time can open.
type Medium struct{ Path string }

// Open opens the directory, and creates it if it does not exist. It removes all
// lost leases, and none can be lost later, because no other process can hold
// one.
func (m Medium) Open(_ context.Context, c engine.StoreConfig) (*engine.Opened, error) {
	s, err := pebblestore.Open(m.Path, pebblestore.Config{
		Policy: c.Keep, AuditKeep: c.AuditKeep, OnSync: c.OnSync, OnReap: c.OnReap, OnFatal: c.OnFatal, Logger: c.Logger,
	})
	if err != nil {
		return nil, err
	}
	return &engine.Opened{
		Store: s, Clock: time.Now,
		Copy:    func(ctx context.Context, w io.Writer) error { return backup(ctx, s, w) },
		Inspect: func(context.Context) []wire.Finding { return examine(s) },
	}, nil
}

// examine reports whether the disk has enough room to accept tasks.
func examine(s *pebblestore.Store) []wire.Finding {
	space, err := s.Space()
	if err != nil {
		return []wire.Finding{{Check: "space", Says: err.Error()}}
	}
	return []wire.Finding{{Check: "space", OK: space.Accepts(), Says: space.String()}}
}

// backup copies the store to w, or returns a *task.FieldError if another backup
// is running.
func backup(ctx context.Context, s *pebblestore.Store, w io.Writer) error {
	err := s.Backup(ctx, w)
	if errors.Is(err, pebblestore.ErrBackupRunning) {
		return &task.FieldError{Code: "busy", Detail: err.Error() + ": wait until it ends"}
	}
	return err
}
