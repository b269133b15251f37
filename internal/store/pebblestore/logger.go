package pebblestore

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/cockroachdb/pebble/v2"
)

// logger is Pebble's way to speak.
type logger struct{ s *Store }

// Infof logs what Pebble does, for whoever debugs it.
func (l logger) Infof(format string, args ...any) {
	l.s.config.Logger.Debug(fmt.Sprintf(format, args...))
}

// Errorf logs what went wrong and was survived.
func (l logger) Errorf(format string, args ...any) {
	l.s.config.Logger.Error(fmt.Sprintf(format, args...))
}

// Fatalf stops the store and does not return, as Pebble demands: it ends its
// goroutine. Exiting here would take from the process the choice of its exit
// code and its last words; OnFatal has it.
func (l logger) Fatalf(format string, args ...any) {
	l.s.wedge()
	l.s.fail("store tasks", fmt.Errorf(format, args...))
	runtime.Goexit()
}

// listener stops the store when work in the background fails: changes would pile
// up in memory and in the log, and a damaged table would go unnoticed.
func (s *Store) listener() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) {
			if errors.Is(err, pebble.ErrCancelledCompaction) {
				return
			}
			s.wedge()
			s.fail("write tables in the background", err)
		},
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			s.fail("read a table", fmt.Errorf("%s is %w: %w", info.Path, errDamaged, info.Details))
		},
		WriteStallBegin: func(info pebble.WriteStallBeginInfo) {
			s.config.Logger.Warn("changes wait until tables are written", "why", info.Reason)
		},
	}
}
