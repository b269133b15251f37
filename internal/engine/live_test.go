package engine_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/engine/directory"
	"github.com/foliot/foliot/internal/engine/memory"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

func TestASecondBackupAtTheSameTimeIsRefused(t *testing.T) {
	n := open(t, directory.Medium{Path: t.TempDir()})
	defer n.Close()
	backup := n.Backup()
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

func TestLiveDataHasHeldQueuesWithoutOverdueTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := open(t, memory.Medium{})
		n.Connect(dispatch.Config{Slots: 4}, receive, nil)
		defer n.Close()
		now := task.FloorMillis(time.Now())
		if _, err := n.Store.Configure(t.Context(), now, []settings.Edit{settings.PauseQueue{Namespace: "default", Name: "mails", Paused: true}}); err != nil {
			t.Fatal(err)
		}
		spec := task.DefaultSpec()
		spec.Name, spec.ID, spec.Queue, spec.Request.URL, spec.When = "a", task.NewID(now), "mails", "http://receiver.example/", task.When{Relative: true}
		fatal.If(t, spec.Validate(now))
		if _, err := n.Store.Transit(t.Context(), now, store.Changes([]task.Change{task.Create{Spec: spec}})); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- n.Deliver(ctx) }()
		time.Sleep(time.Second) // of the bubble: the poller reads the lanes
		want := []wire.LiveQueue{{Namespace: "default", Queue: "mails", LimitedBy: "pause"}}
		if got := n.Live().Queues; !slices.Equal(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
