package server

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestSpareHeapLeavesTheCollectorToTheEnvironment(t *testing.T) {
	t.Setenv("GOGC", "")
	if got := len(newSpareHeap()); got != spareHeap {
		t.Errorf("the array has %d bytes, want %d", got, spareHeap)
	}
	t.Setenv("GOGC", "100")
	if got := len(newSpareHeap()); got != 0 {
		t.Errorf("with GOGC, the array has %d bytes, want 0", got)
	}
	t.Setenv("GOGC", "")
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64 - 1))
	if got := len(newSpareHeap()); got != 0 {
		t.Errorf("with a memory limit, the array has %d bytes, want 0", got)
	}
}
