package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// memoryOf returns a process's resident memory now and at its peak, in bytes,
// as the system tells it.
func memoryOf(pid int) (now, peak int64, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, fmt.Errorf("read the memory of process %d: %w", pid, err)
	}
	for line := range strings.Lines(string(data)) {
		field := func(prefix string) (int64, bool) {
			rest, ok := strings.CutPrefix(line, prefix)
			if !ok {
				return 0, false
			}
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kb << 10, err == nil
		}
		if v, ok := field("VmRSS:"); ok {
			now = v
		}
		if v, ok := field("VmHWM:"); ok {
			peak = v
		}
	}
	if now == 0 {
		return 0, 0, fmt.Errorf("the system does not tell the memory of process %d", pid)
	}
	return now, peak, nil
}

// cpuOf returns the processor time that a process has used so far.
func cpuOf(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read the processor time of process %d: %w", pid, err)
	}
	return parseCPU(data)
}

// parseCPU adds up the user and the system time of a stat line. The second
// field, the program's name in brackets, may hold anything.
func parseCPU(stat []byte) (time.Duration, error) {
	const utime, stime, tick = 14, 15, time.Second / 100 // USER_HZ is 100 wherever Linux runs
	end := bytes.LastIndexByte(stat, ')')
	fields := bytes.Fields(stat[end+1:]) // from the third on
	if end < 0 || len(fields) < stime-2 {
		return 0, errors.New("the system does not tell the processor time")
	}
	var sum time.Duration
	for _, field := range []int{utime, stime} {
		ticks, err := strconv.ParseInt(string(fields[field-3]), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the processor time: %w", err)
		}
		sum += time.Duration(ticks) * tick
	}
	return sum, nil
}

// memoryWatch samples a process's memory while something is measured. Its
// goroutine is stopped and awaited by end.
type memoryWatch struct {
	stop context.CancelFunc
	done chan struct{}
	seen memorySeen // of the goroutine until done is closed
}

// memorySeen is what a memoryWatch has seen, in bytes.
type memorySeen struct{ start, peak, end int64 }

func (m memorySeen) String() string {
	return fmt.Sprintf("%d MB at the start, %d at the peak, %d at the end", m.start>>20, m.peak>>20, m.end>>20)
}

func watchMemory(ctx context.Context, pid int) *memoryWatch {
	ctx, stop := context.WithCancel(ctx)
	w := &memoryWatch{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for more := true; more; more = pause(ctx, 100*time.Millisecond) {
			w.look(pid)
		}
	}()
	return w
}

func (w *memoryWatch) look(pid int) {
	now, _, err := memoryOf(pid)
	if err != nil {
		return // it is gone: what was seen so far stands
	}
	if w.seen.start == 0 {
		w.seen.start = now
	}
	w.seen.peak, w.seen.end = max(w.seen.peak, now), now
}

// end returns what was seen. Twice is fine.
func (w *memoryWatch) end() memorySeen {
	w.stop()
	<-w.done
	return w.seen
}
