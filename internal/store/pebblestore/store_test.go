package pebblestore

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/foliot/foliot/internal/store/storetest"
	"github.com/foliot/foliot/internal/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStore(t *testing.T) { storetest.Run(t, openEmpty) }

// openEmpty opens a new store in memory.
func openEmpty(t *testing.T) task.Store { return open(t, vfs.NewMem(), Config{}) }

// open opens the store that fs holds.
func open(t testing.TB, fs vfs.FS, c Config) *Store {
	t.Helper()
	c.FS, c.Policy = fs, storetest.Policy
	s, err := Open("data", c)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// clock stands still at benchStart.
func clock() time.Time { return benchStart.Time() }
