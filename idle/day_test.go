package idle

import (
	"flag"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var virtualConns = flag.Int("virtual", 50_000, "how many connections TestADayWithoutAWrongCloseOrAMissingOne watches")

// virtual is a connection that speaks once in each round until it skips one.
// From then on it is silent and must be closed.
type virtual struct {
	Entry
	state atomic.Uint32 // the round in which it last spoke, and its outcome
}

const (
	virtualSilent = 1 << 30 // it has skipped a round
	virtualClosed = 1 << 31
	virtualRound  = virtualSilent - 1
)

// Connections speak for a day just before their timeout, each at its own time.
// In each round one in twenty does not.
func TestADayWithoutAWrongCloseOrAMissingOne(t *testing.T) {
	n, beat := *virtualConns, 100*time.Millisecond // the connections of a beat speak together
	if testing.Short() {
		n, beat = min(n, 5_000), time.Second
	}
	synctest.Test(t, func(t *testing.T) {
		const (
			timeout    = time.Hour
			resolution = time.Second
		)
		beats := int(timeout/beat) - 1                // beats of a round, which is shorter than the timeout by that
		settling := int((2*resolution+beat)/beat) + 1 // time for the close of the last silent ones
		turns := 24*beats + settling
		start := time.Now()
		all := make([]virtual, n)
		var early, late, wrong, closed atomic.Int64
		var worst atomic.Int64
		g := New(Config{ReadIdle: timeout, Resolution: resolution}, func(i int, _ Reason) Verdict {
			v := &all[i]
			state := v.state.Load()
			spoke := start.Add(beat * time.Duration(int(state&virtualRound)*beats+i%beats))
			switch after := time.Since(spoke); {
			case state&virtualSilent == 0:
				wrong.Add(1)
			case after < timeout:
				early.Add(1)
			case after > timeout+2*resolution:
				late.Add(1)
			default:
				worst.Store(max(worst.Load(), int64(after-timeout)))
			}
			closed.Add(1)
			v.state.Store(virtualClosed)
			return Close()
		})
		silenced := int64(0)
		for turn := range turns {
			time.Sleep(time.Until(start.Add(beat * time.Duration(turn))))
			round := uint32(turn / beats)
			for i := turn % beats; i < n; i += beats {
				v := &all[i]
				state := v.state.Load()
				switch {
				case round == 0, state&virtualClosed != 0:
					v.state.Store(round)
					track(t, g, i, &v.Entry)
				case state&virtualSilent != 0:
					t.Fatalf("connection %d, silent since round %d, was not closed until round %d", i, state&virtualRound, round)
				case turn < turns-settling && share(19, uint64(round)<<32|uint64(i)) == 0:
					silenced++
					v.state.Store(state | virtualSilent)
				default:
					v.state.Store(round)
					v.TouchRead()
				}
			}
		}
		synctest.Wait()
		s := g.Stats()
		g.Close()
		t.Logf("%d connections over %v of fake time: %d fell silent, %d were closed; wrong %d, early %d, late %d, the latest %v after the timeout",
			n, time.Since(start).Round(time.Second), silenced, closed.Load(), wrong.Load(), early.Load(), late.Load(), time.Duration(worst.Load()))
		if wrong.Load()+early.Load()+late.Load() > 0 || closed.Load() != silenced || s.Closed.Of(ReadIdle) != uint64(silenced) {
			t.Error("a promise was broken")
		}
	})
}
