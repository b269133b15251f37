package measure

import (
	"fmt"
	"time"

	"github.com/foliot/foliot/bench/counters"
	"github.com/foliot/foliot/bench/peer"
	"github.com/foliot/foliot/bench/record"
	"github.com/foliot/foliot/bench/usage"
)

const (
	burst  = time.Second           // the timers of million are due within this time
	warmUp = 50 * time.Millisecond // CPU time is counted from this time before the burst
)

// patience is the time to wait for the last timer. Tests change it.
var patience = time.Minute

// million measures N timers that are due within one second: the CPU time to set
// them, the CPU time to fire them, and their lateness. Each timer has its own
// deadline and callback. The callback reads the clock, swaps a word of its
// timer and counts.
func million[H any](j record.Job, open opener[H]) (record.Values, error) {
	account := counters.New(j.N, j.N)
	timers := open(account)
	defer timers.Close()

	lead := warmUp + 250*time.Millisecond + time.Duration(j.N)*allowance(timers)
	start := account.Now() + lead
	r := random(1)
	before := usage.CPU()
	for i := range j.N {
		due := start + time.Duration(r.below(int(burst)))
		account.Expect(i, due)
		timers.Set(max(1, due-account.Now()), i)
	}
	added := usage.CPU()
	if account.Now() > start-warmUp {
		return nil, fmt.Errorf("setting %d timers took longer than %v", j.N, lead)
	}

	time.Sleep(start - warmUp - account.Now())
	idle := usage.CPU()
	lost := account.Wait(burst + warmUp + patience)
	fired := usage.CPU()
	values := lateness(account)
	values[record.AddMs] = millis(added - before)
	values[record.FireMs] = millis(fired - idle)
	values[record.Lost] = float64(lost)
	if lost == j.N {
		return nil, fmt.Errorf("none of %d timers fired", j.N)
	}
	return values, nil
}

// allowance returns the time to allow for setting one timer. It is three times
// the time it takes with few timers, plus 500 ns.
func allowance[H any](timers peer.Timers[H]) time.Duration {
	const few = 10_000
	start := time.Now()
	for i := range few {
		timers.Remove(timers.Nop(delay(i)))
	}
	return time.Since(start)/few*3 + 500*time.Nanosecond
}

func lateness(account *counters.Counters) record.Values {
	late := account.Lateness()
	return record.Values{
		record.Fired:      float64(account.Count()),
		record.Doubled:    float64(account.Doubled()),
		record.Early:      float64(late.Early),
		record.EarliestMs: millis(late.Earliest),
		record.P50Ms:      millis(late.P50),
		record.P99Ms:      millis(late.P99),
		record.MaxMs:      millis(late.Max),
	}
}
