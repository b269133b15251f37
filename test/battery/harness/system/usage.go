package system

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// MemoryOf returns a process's resident memory now and at its peak, in bytes.
func MemoryOf(pid int) (now, peak int64, err error) {
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
		return 0, 0, fmt.Errorf("the system does not report the memory of process %d", pid)
	}
	return now, peak, nil
}

// CPUOf returns the processor time that a process has used so far.
func CPUOf(pid int) (time.Duration, error) {
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
		return 0, errors.New("the system does not report the processor time")
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

// WrittenBy returns how many bytes a process has sent to disks so far. The system
// counts whole pages, when the process first changes them.
func WrittenBy(pid int) (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0, fmt.Errorf("read the writes of process %d: %w", pid, err)
	}
	return parseWritten(data)
}

// parseWritten returns the number in the line write_bytes.
func parseWritten(io []byte) (int64, error) {
	for line := range strings.Lines(string(io)) {
		if rest, ok := strings.CutPrefix(line, "write_bytes:"); ok {
			return strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
		}
	}
	return 0, errors.New("the system does not count the writes of a process")
}

// BytesBelow returns the size of all files below dir.
func BytesBelow(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil // files may be removed during the walk
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum
}
