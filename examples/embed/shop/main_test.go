package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/dir"
	"github.com/foliot/foliot/foliottest"
)

const (
	grace  = 30 * time.Minute
	closed = "order 42 was not paid in time\n"
)

// start runs the program on a store until stop is called.
func start(t *testing.T, store foliot.Store) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, store, grace) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func TestTheUnpaidOrderIsClosedAndNotASecondEarlier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines := collect(t)
		defer start(t, foliottest.Store())()
		time.Sleep(grace - time.Second)
		if got := lines.String(); got != "" {
			t.Errorf("too early: %s", got)
		}
		time.Sleep(2 * time.Second)
		if got := lines.String(); got != closed {
			t.Errorf("the log is %q", got)
		}
	})
}

func TestTheGraceGoesOnOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines := collect(t)
		store := dir.Store(t.TempDir())
		stop := start(t, store)
		time.Sleep(10 * time.Minute)
		stop()
		time.Sleep(10 * time.Minute)
		stop = start(t, store)
		defer func() { stop() }()
		time.Sleep(10*time.Minute - time.Second)
		if got := lines.String(); got != "" {
			t.Errorf("too early: %s", got)
		}
		time.Sleep(2 * time.Second)
		if got := lines.String(); got != closed {
			t.Errorf("the log is %q", got)
		}
	})
}
