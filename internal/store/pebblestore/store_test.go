package pebblestore

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/store/storetest"
	"github.com/foliot/foliot/internal/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStore(t *testing.T) { storetest.Run(t, openEmpty) }

func TestAStoreWithBodiesApart(t *testing.T) {
	quick.Leave(t, "checks the whole contract again")
	storetest.Run(t, openApart)
}

// An orderly stop loses nothing. A kill loses the part that the log's writer
// had not written, and a power loss loses unsynced data: claims, in both cases.
func TestStoreEqualsTheReference(t *testing.T) { equalsReference(t, openEmpty) }

// Before a restart most bodies are apart from their records.
func TestAStoreWithBodiesApartEqualsTheReference(t *testing.T) { equalsReference(t, openApart) }

func equalsReference(t *testing.T, openEmpty func(*testing.T) store.Store) {
	t.Helper()
	storetest.Differential(t, storetest.Subject{
		Open: openEmpty,
		Reference: func(now task.Millis, c storetest.Contents) store.Store {
			return storetest.Refill(memstore.New(memstore.Config{Policy: storetest.Policy, AuditKeep: storetest.AuditKeep}), now, c)
		},
		Reopens: []storetest.Reopen{
			{Name: "close", Do: reopen(func(disk *vfs.MemFS, s *Store) (*vfs.MemFS, error) { return disk, s.Close() })},
			{Name: "kill", LosesClaims: true, Do: reopen(func(disk *vfs.MemFS, s *Store) (*vfs.MemFS, error) { return cloneDisk(disk), s.Close() })},
			{Name: "power loss", LosesClaims: true, Do: reopen(func(disk *vfs.MemFS, s *Store) (*vfs.MemFS, error) { return powerOff(disk), s.Close() })},
		},
	})
}

// reopen ends a store in one way and opens the result.
func reopen(end func(*vfs.MemFS, *Store) (*vfs.MemFS, error)) func(*testing.T, store.Store, task.Millis) store.Store {
	return func(t *testing.T, ts store.Store, now task.Millis) store.Store {
		t.Helper()
		s := ts.(*Store)
		disk, err := end(s.config.FS.(*vfs.MemFS), s)
		if err != nil {
			t.Fatalf("Close: %v", err)
		}
		return open(t, disk, Config{Now: now.Time})
	}
}

// openEmpty opens a new store in memory.
func openEmpty(t *testing.T) store.Store { return open(t, vfs.NewCrashableMem(), Config{}) }

// openApart opens a new store whose records have only very small bodies.
func openApart(t *testing.T) store.Store {
	return open(t, vfs.NewCrashableMem(), Config{inlineBody: 8})
}

// open opens the store in fs.
func open(t testing.TB, fs vfs.FS, c Config) *Store {
	t.Helper()
	c.FS, c.Policy, c.AuditKeep = fs, storetest.Policy, storetest.AuditKeep
	s, err := Open("data", c)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// clock always returns benchStart.
func clock() time.Time { return benchStart.Time() }
