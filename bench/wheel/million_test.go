package wheel

import (
	"fmt"
	"time"

	"github.com/foliot/foliot/bench/counters"
	"github.com/foliot/foliot/bench/metric"
	"github.com/foliot/foliot/bench/peer"
	"github.com/foliot/foliot/bench/usage"
)

const (
	burst  = time.Second           // the timers of million are due within this time
	warmUp = 50 * time.Millisecond // CPU time is counted from this time before the burst
)

// patience is the time to wait for the last timer. Tests change it.
var patience = time.Minute

// million measures n timers that are due within one second: the CPU time to set
// them, the CPU time to fire them, and their lateness. Each timer has its own
// deadline and callback. The callback reads the clock, swaps a word of its
// timer and counts.
func million[H any](n int, open opener[H]) (metric.Values, error) {
	account := counters.New(n, n)
	timers := open(account)
	defer timers.Close()

	lead := warmUp + 250*time.Millisecond + time.Duration(n)*allowance(timers)
	start := account.Now() + lead
	r := random(1)
	before := usage.CPU()
	for i := range n {
		due := start + time.Duration(r.below(int(burst)))
		account.Expect(i, due)
		timers.Set(max(1, due-account.Now()), i)
	}
	added := usage.CPU()
	if account.Now() > start-warmUp {
		return nil, fmt.Errorf("setting %d timers took longer than %v", n, lead)
	}

	time.Sleep(start - warmUp - account.Now())
	idle := usage.CPU()
	lost := account.Wait(burst + warmUp + patience)
	fired := usage.CPU()
	values := metric.Values{"add_cpu_ms": metric.Millis(added - before), "fire_cpu_ms": metric.Millis(fired - idle)}
	account.Judge(values)
	if lost == n {
		return nil, fmt.Errorf("none of %d timers fired", n)
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
