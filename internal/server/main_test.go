package server

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/fileaccess"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store/pebblestore"
	"github.com/foliot/foliot/internal/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const anyPort = "127.0.0.1:0"

// makeToken creates an operator's token in a directory.
func makeToken(t *testing.T, dir string) string {
	t.Helper()
	if err := fileaccess.CloseDataDir("--data", dir); err != nil { // restricts the access to the directory
		t.Fatal(err)
	}
	store, err := pebblestore.Open(dir, pebblestore.Config{Logger: slog.New(slog.DiscardHandler)})
	fatal.If(t, err)
	token, hash := settings.MintToken()
	edit := settings.AddToken{Namespace: settings.AllNamespaces, Scope: settings.ScopeAdmin, Hash: hash, First: true}
	replies, err := store.Configure(t.Context(), task.CeilMillis(time.Now()), []settings.Edit{edit})
	if err == nil {
		err = replies[0].Err
	}
	fatal.If(t, errors.Join(err, store.Close()))
	return token
}
