package membership

import (
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// After an outage or a step of the clock, a holder that seems silent may be
// about to send its heartbeat.
func TestADuplicateTakesNoNameBeforeItsHolderHadTimeForAHeartbeat(t *testing.T) {
	const silence, heartbeat = 3 * time.Second, time.Second
	o, start := &Member{config: Config{Heartbeat: heartbeat}, self: Peer{Name: "a", Nonce: "later"}}, time.Now()
	for i, c := range []struct {
		at        time.Duration // the time at this process
		beat, now task.Millis
		found     Found
		mode      Mode // the mode of the heartbeat
		duplicate bool
	}{
		{at: 0, beat: 1000, now: 1100, found: other, mode: Alive},                                   // the holder may have been killed
		{at: heartbeat, beat: 2000, now: 2100, found: other, mode: Alive, duplicate: true},          // the holder is live
		{at: 2 * heartbeat, beat: 2000, now: 9000, found: other, mode: KeepName, duplicate: true},   // the holder is silent, as far as is known
		{at: 2*heartbeat + 1, beat: 2000, now: 9000, found: other, mode: KeepName, duplicate: true}, // another node sent a message
		{at: 3*heartbeat + 1, beat: 9900, now: 10000, found: other, mode: Alive, duplicate: true},
		{at: 4*heartbeat + 1, beat: 9900, now: 19000, found: other, mode: KeepName, duplicate: true},
		{at: 5*heartbeat + 1, beat: 9900, now: 20000, found: moved, mode: Alive},
	} {
		at := start.Add(c.at)
		if mode := o.heartbeatMode(at, silence); mode != c.mode {
			t.Errorf("%d: a heartbeat of mode %d, want %d", i, mode, c.mode)
		}
		holder := Peer{Name: "a", Nonce: "first", Beat: c.beat}
		if c.found != other {
			holder = Peer{Name: "a", Nonce: "later", Beat: c.now}
		}
		err := o.checkDuplicate(at, []Peer{holder}, c.now, c.found, silence)
		if o.duplicate.Load() != c.duplicate || (err != nil) != c.duplicate {
			t.Errorf("%d: duplicate %t, %v", i, o.duplicate.Load(), err)
		}
	}
	o.duplicate.Store(true)
	o.away = time.Now()
	if mode := o.heartbeatMode(time.Now(), silence); mode != NoName {
		t.Errorf("after an outage a heartbeat of mode %d", mode)
	}
}
