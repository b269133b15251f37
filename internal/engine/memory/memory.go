// Package memory keeps tasks in the memory of the process, for tests and trials.
package memory

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/store/memstore"
)

// Medium is the memory of this process, so the tasks are lost when the process
// ends.
type Medium struct{}

func (Medium) Open(_ context.Context, c engine.StoreConfig) (*engine.Opened, error) {
	return &engine.Opened{Store: memstore.New(memstore.Config{Policy: c.Keep, AuditKeep: c.AuditKeep}), Clock: time.Now}, nil
}
