package wheel

import (
	"runtime"
	"testing"
)

// BenchmarkPoolRun measures the cost of an empty callback: on its own
// goroutine, and in a Pool.
func BenchmarkPoolRun(b *testing.B) {
	p := NewPool(runtime.GOMAXPROCS(0), 1024, Block)
	for name, run := range map[string]Runner{"go": Go, "pool": p} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			defer reportCPU(b)()
			done := make(chan struct{})
			left := 0
			f := func() {}
			for b.Loop() {
				run.Run(f)
				if left++; left%yieldAfter == 0 { // as a driver does
					runtime.Gosched()
				}
			}
			run.Run(func() { close(done) })
			<-done
		})
	}
}
