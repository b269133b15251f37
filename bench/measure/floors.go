package measure

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/bench/counters"
	"github.com/foliot/foliot/bench/record"
	"github.com/foliot/foliot/bench/usage"
)

// floor is an operation that every implementation consists of, or a lower bound
// of its cost. measure returns nanoseconds.
type floor struct {
	name    string
	measure func(window time.Duration) float64
}

// floors returns all floors in the order of the report.
func floors() []floor {
	base := time.Now()
	var mu sync.Mutex
	var word atomic.Uint64
	var sum int64 // uses the readings, so that the compiler does not remove them
	list := []floor{
		{"full garbage collection, empty heap", func(time.Duration) float64 { return float64(usage.Collection()) }},
		{"clock, `time.Now`", loop(func() { sum += int64(time.Now().Nanosecond()) })},
		{"clock, `time.Since`", loop(func() { sum += int64(time.Since(base)) })},
		{"lock and unlock", loop(func() {
			mu.Lock()
			mu.Unlock() //nolint:staticcheck // this measures the pair
		})},
		{"atomic add", loop(func() { word.Add(1) })},
		{"atomic load, compare and swap", loop(func() { word.CompareAndSwap(word.Load(), 1) })},
		{"allocation of 64 bytes", loop(func() { kept = new(chunk) })},
	}
	for _, nodes := range []struct {
		name string
		n    int
	}{{"10³", 1_000}, {"10⁵", 100_000}, {"10⁶", 1_000_000}, {"10⁷", 10_000_000}} {
		list = append(list, floor{
			"random 64-byte node among " + nodes.name,
			func(window time.Duration) float64 { return randomNode(window, nodes.n) },
		})
	}
	return append(list,
		floor{"callback as in `million`, called directly", func(time.Duration) float64 { return callbacks(func(f func()) { f() }) }},
		floor{"the same on a goroutine each", func(time.Duration) float64 { return callbacks(goroutineEach()) }},
	)
}

// FloorNames returns the names of all floors, in order.
func FloorNames() (names []string) {
	for _, f := range floors() {
		names = append(names, f.name)
	}
	return names
}

func measureFloors(j record.Job) record.Values {
	values := record.Values{}
	for _, f := range floors() {
		values[f.name] = f.measure(j.Window)
		runtime.GC()
	}
	runtime.KeepAlive(kept)
	return values
}

// chunk has the size of a timer of package time with its callback.
type chunk [8]uint64

// kept prevents the compiler from removing an allocation. Only the garbage
// collector reads it.
var kept *chunk

// loop measures an operation and the function call around it.
func loop(operation func()) func(time.Duration) float64 {
	return func(window time.Duration) float64 {
		start, done := time.Now(), 0
		for time.Since(start) < window {
			for range 1024 {
				operation()
			}
			done += 1024
		}
		return float64(time.Since(start)) / float64(done)
	}
}

// randomNode reads and writes one random node of n at a time.
func randomNode(window time.Duration, n int) float64 {
	nodes := make([]chunk, n)
	for i := range nodes {
		nodes[i][0] = 1 // so that its page exists
	}
	r := random(1)
	return loop(func() { nodes[r.below(n)][0]++ })(window)
}

// callbacks runs the callback of the workload million 10⁶ times. It returns the
// CPU time of one.
func callbacks(run func(func())) float64 {
	const n = 1_000_000
	account := counters.New(n, n)
	before := usage.Now()
	for i := range n {
		run(account.Func(i))
	}
	account.Wait(patience)
	return float64(usage.Now().CPU-before.CPU) / n
}

// goroutineEach returns a function that runs each call on a new goroutine, at
// most a thousand at a time.
func goroutineEach() func(func()) {
	free := make(chan struct{}, 1000)
	return func(f func()) {
		free <- struct{}{}
		go func() {
			f()
			<-free
		}()
	}
}
