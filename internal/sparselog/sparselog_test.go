package sparselog

import (
	"strconv"
	"sync"
	"testing"
	"time"
)

var start = time.Unix(1_700_000_000, 0)

func TestTheFirstLinesOfAWindowAreWritten(t *testing.T) {
	const most, every = 3, 10 * time.Second
	var w Window
	for second := range 40 { // five lines a second
		for i := range 5 {
			_, write := w.Add(start.Add(time.Duration(second)*time.Second), most, every)
			if want := second%10 == 0 && i < most; write != want {
				t.Errorf("second %d, line %d: written: %v, want %v", second, i, write, want)
			}
		}
	}
}

func TestEachLineIsWrittenOrCountedAsLeftOut(t *testing.T) {
	var w Window
	accounted, left := 0, 0
	for i := range 1000 {
		leftOut, write := w.Add(start.Add(time.Duration(i)*17*time.Millisecond), 2, time.Second)
		if left++; !write {
			continue
		}
		if leftOut != left-1 {
			t.Fatalf("line %d: %d lines were left out before it, want %d", i, leftOut, left-1)
		}
		accounted, left = accounted+left, 0
	}
	if accounted+left != 1000 || accounted < 900 {
		t.Errorf("%d lines accounted for, and %d left out at the end", accounted, left)
	}
}

func TestTheNextWindowBeginsWithItsFirstLine(t *testing.T) {
	var w Window
	for _, line := range []struct {
		at    time.Duration
		write bool
	}{{0, true}, {10 * time.Second, true}, {35 * time.Second, true}, {44 * time.Second, false}, {45 * time.Second, true}} {
		if _, write := w.Add(start.Add(line.at), 1, 10*time.Second); write != line.write {
			t.Errorf("after %v: written: %v, want %v", line.at, write, line.write)
		}
	}
}

func TestKindsDoNotUseUpEachOthersLines(t *testing.T) {
	var k Kinds
	for range 3 {
		k.Add("claim", start, 1, time.Second)
	}
	if leftOut, write := k.Add("settle", start, 1, time.Second); !write || leftOut != 0 {
		t.Errorf("the first line of a second kind: written: %v, %d left out before it", write, leftOut)
	}
	if leftOut, write := k.Add("claim", start.Add(time.Second), 1, time.Second); !write || leftOut != 2 {
		t.Errorf("the next line of the first kind: written: %v, %d left out before it, want 2", write, leftOut)
	}
}

func TestKindsBeyondTheLimitShareOneWindow(t *testing.T) {
	var k Kinds
	written := 0
	for i := range 10 * MaxKinds {
		if _, write := k.Add(strconv.Itoa(i), start, 1, time.Second); write {
			written++
		}
	}
	if written != MaxKinds+1 || len(k.windows) != MaxKinds {
		t.Errorf("%d lines written and %d kinds kept, want %d and %d", written, len(k.windows), MaxKinds+1, MaxKinds)
	}
	if leftOut, write := k.Add("one more", start.Add(time.Second), 1, time.Second); !write || leftOut != 9*MaxKinds-1 {
		t.Errorf("the next line of the others: written: %v, %d left out before it, want %d", write, leftOut, 9*MaxKinds-1)
	}
}

func TestManyGoroutinesMayAddLines(t *testing.T) {
	var k Kinds
	var all sync.WaitGroup
	written := make([]int, 8)
	for g := range written {
		all.Go(func() {
			for i := range 1000 {
				if _, write := k.Add(strconv.Itoa(i%3), start, 5, time.Second); write {
					written[g]++
				}
			}
		})
	}
	all.Wait()
	total := 0
	for _, n := range written {
		total += n
	}
	if total != 3*5 {
		t.Errorf("%d lines written, want 15", total)
	}
}
