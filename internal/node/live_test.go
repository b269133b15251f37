package node

import (
	"errors"
	"io"
	"log/slog"
	"testing"

	"github.com/foliot/foliot/internal/task"
)

func TestASecondBackupAtTheSameTimeIsRefused(t *testing.T) {
	n, err := Open(t.Context(), Config{Dir: t.TempDir()}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer n.Store.Close()
	backup := n.backup()
	reader, writer := io.Pipe()
	first := make(chan error)
	go func() { first <- backup(t.Context(), writer) }()
	if _, err := io.ReadFull(reader, make([]byte, 1)); err != nil { // the backup is running
		t.Fatal(err)
	}
	var busy *task.FieldError
	if err := backup(t.Context(), io.Discard); !errors.As(err, &busy) || busy.Code != "busy" {
		t.Errorf("the second: %v", err)
	}
	go func() { _, _ = io.Copy(io.Discard, reader) }()
	if err := <-first; err != nil {
		t.Errorf("the first: %v", err)
	}
	writer.Close()
}
