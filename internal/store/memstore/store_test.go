package memstore_test

import (
	"testing"

	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/store/storetest"
	"github.com/foliot/foliot/internal/task"
)

func open(*testing.T) task.Store { return memstore.New(memstore.Config{Policy: storetest.Policy}) }

func TestStore(t *testing.T) { storetest.Run(t, open) }
