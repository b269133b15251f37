package server

import (
	"math"
	"os"
	"runtime/debug"
)

// spareHeap is the size of the array that newSpareHeap returns, in bytes. A
// server with few tasks in memory has 6 to 10 MB of live data, so without the
// array the garbage collector runs for each 6 to 10 MB of requests. With the
// array it runs for each 40 MB.
const spareHeap = 32 << 20

// newSpareHeap returns an array that the garbage collector counts, and that is
// never read or written. The operating system gives no memory to it. It delays
// each collection until as many more bytes were allocated, so the process needs
// at most that much more memory, with a heap of any size. A higher GOGC would
// multiply the memory of a server with a large heap.
//
// The array is empty if the environment sets GOGC or GOMEMLIMIT.
func newSpareHeap() []byte {
	if os.Getenv("GOGC") != "" || debug.SetMemoryLimit(-1) != math.MaxInt64 {
		return nil
	}
	return make([]byte, spareHeap)
}
