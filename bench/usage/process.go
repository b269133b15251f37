package usage

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// tick is the unit of times in /proc on every Linux that Go supports.
const tick = 10 * time.Millisecond

// Process returns the processor time of a process and of all its children,
// including children that have ended. It returns 0 if pid is 0 or the time is
// unknown. (PostgreSQL has a child for each connection.)
func Process(pid int) (all time.Duration) {
	if pid == 0 {
		return 0
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0
	}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		id, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		// The name, in brackets, may contain any character. After it the state
		// is the 3rd field, the parent the 4th, and the times are the 14th and
		// 15th. The 16th and 17th are those of children that have ended.
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		if err != nil || len(fields) < 15 {
			continue
		}
		if parent, _ := strconv.Atoi(string(fields[1])); id != pid && parent != pid {
			continue
		}
		for _, field := range fields[11:15] {
			ticks, _ := strconv.Atoi(string(field))
			all += time.Duration(ticks) * tick
		}
	}
	return all
}
