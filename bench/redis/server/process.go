package server

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of times in /proc on every Linux that Go supports.
const tick = 10 * time.Millisecond

// Processor returns the processor time that a process has used so far. It
// returns 0 if pid is 0 or if the time is unknown.
func Processor(pid int) time.Duration {
	if pid == 0 {
		return 0
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name, in brackets, may contain any character. After it, the state is
	// the 3rd field, and the times are the 14th and 15th.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * tick
}
