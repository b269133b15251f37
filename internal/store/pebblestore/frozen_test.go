package pebblestore

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// A sync fails, and from then on writes to the file system hang.
func TestAFrozenFileSystemStopsTheStoreInBoundedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		thaw := make(chan struct{})
		fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			switch {
			case !broken.Load():
			case isLogSync(op):
				return errInjected
			case strings.HasSuffix(op.Path, watermarkFile) && op.Kind.ReadOrWrite() == errorfs.OpIsWrite:
				<-thaw
			}
			return nil
		}))
		fatal := make(chan error, 1)
		s := open(t, fs, Config{OnFatal: func(err error) { fatal <- err }})
		broken.Store(true)
		began := time.Now()
		answered := make(chan error, 1)
		go func() {
			_, err := s.Transit(t.Context(), benchStart, store.Changes(creates(0, 1, later)))
			answered <- err
		}()
		select {
		case err := <-fatal:
			if !errors.Is(err, errInjected) {
				t.Errorf("OnFatal was called with %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("OnFatal was not called within a minute")
			close(thaw)
		}
		if err := <-answered; !errors.Is(err, task.ErrClosed) {
			t.Errorf("the create that was not synced: %v", err)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the store stopped after %v", took)
		}
		select {
		case <-thaw:
		default:
			close(thaw)
		}
		synctest.Wait() // a file in memory accepts no write after its close
		if err := s.Close(); !errors.Is(err, errInjected) {
			t.Errorf("Close: %v", err)
		}
	})
}
