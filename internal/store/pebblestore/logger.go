package pebblestore

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/cockroachdb/pebble/v2"
)

// logger receives Pebble's messages.
type logger struct{ s *Store }

// Infof logs a message for debugging.
func (l logger) Infof(format string, args ...any) {
	l.s.config.Logger.Debug(fmt.Sprintf(format, args...))
}

// Errorf logs an error that Pebble has handled.
func (l logger) Errorf(format string, args ...any) {
	l.s.config.Logger.Error(fmt.Sprintf(format, args...))
}

// Fatalf stops the store and ends the goroutine, as Pebble requires that it
// does not return. If it ended the process, the process could choose neither
// its exit code nor its last message, as it can in OnFatal.
func (l logger) Fatalf(format string, args ...any) {
	l.s.markStuck()
	l.s.fail("store tasks", fmt.Errorf(format, args...))
	runtime.Goexit()
}

// listener stops the store when background work fails, because otherwise
// changes would accumulate in memory and in the log, and a damaged table would
// not be noticed.
func (s *Store) listener() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) {
			if errors.Is(err, pebble.ErrCancelledCompaction) {
				return
			}
			s.markStuck()
			s.fail("write tables in the background", err)
		},
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			s.fail("read a table", fmt.Errorf("%s is %w: %w", info.Path, errDamaged, info.Details))
		},
		WriteStallBegin: func(info pebble.WriteStallBeginInfo) {
			s.config.Logger.Warn("new changes wait until the store has written its tables", "why", info.Reason)
		},
	}
}
