package measure

import (
	"time"

	"github.com/foliot/foliot/bench/counters"
	"github.com/foliot/foliot/bench/record"
	"github.com/foliot/foliot/bench/usage"
)

// settle is the time for the runtime to become idle after the timers were set.
const settle = time.Second

// idle measures a window in which no timer is due: the CPU time and the context
// switches of the whole process.
func idle[H any](j record.Job, open opener[H]) (record.Values, error) {
	timers := open(counters.New(0, 0))
	defer timers.Close()
	handles := stand(timers, j.N)
	time.Sleep(settle)
	before := usage.Now()
	time.Sleep(j.Window)
	after := usage.Now()
	values := record.Values{
		record.CPUMs:    millis(after.CPU - before.CPU),
		record.Switches: float64(after.Switches - before.Switches),
	}
	return values, allStand(timers, handles, j.N)
}
