package memory

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/medium"
	"github.com/foliot/foliot/internal/store/memstore"
)

// Medium is the memory of this process. The tasks are lost when the process
// ends.
type Medium struct{}

// Open returns an empty store.
func (Medium) Open(_ context.Context, c medium.Config) (*medium.Opened, error) {
	return &medium.Opened{Store: memstore.New(memstore.Config{Policy: c.Keep, AuditKeep: c.AuditKeep}), Now: time.Now}, nil
}
