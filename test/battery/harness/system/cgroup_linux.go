package system

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// MemoryGroup is a memory cgroup: its processes get no more memory than its
// limit. A nil group has no limit. Close removes the group after its processes
// have ended.
type MemoryGroup struct {
	dir string
}

// cgroupRoot is where the system mounts its cgroups.
const cgroupRoot = "/sys/fs/cgroup"

// NewMemoryGroup makes a cgroup, of version 1 or 2. On most machines only root
// can do that.
func NewMemoryGroup(limit int64) (*MemoryGroup, error) {
	parent, file := filepath.Join(cgroupRoot, "memory"), "memory.limit_in_bytes"
	if _, err := os.Stat(filepath.Join(cgroupRoot, "cgroup.controllers")); err == nil {
		parent, file = cgroupRoot, "memory.max"
	}
	dir, err := os.MkdirTemp(parent, "foliot-battery-")
	if err != nil {
		return nil, fmt.Errorf("make a memory cgroup: %w", err)
	}
	g := &MemoryGroup{dir}
	if err := os.WriteFile(filepath.Join(dir, file), []byte(strconv.FormatInt(limit, 10)), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("limit a memory cgroup: %w", err), g.Close())
	}
	return g, nil
}

// Add puts a process into the group.
func (g *MemoryGroup) Add(pid int) error {
	if g == nil {
		return nil
	}
	if err := os.WriteFile(filepath.Join(g.dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o600); err != nil {
		return fmt.Errorf("put the server into a memory cgroup: %w", err)
	}
	return nil
}

// Kills returns how many processes the system has killed for want of memory.
func (g *MemoryGroup) Kills() int {
	if g == nil {
		return 0
	}
	for _, file := range []string{"memory.oom_control", "memory.events"} {
		data, _ := os.ReadFile(filepath.Join(g.dir, file)) // one of them is the other version's
		for line := range strings.Lines(string(data)) {
			if rest, ok := strings.CutPrefix(line, "oom_kill "); ok {
				n, _ := strconv.Atoi(strings.TrimSpace(rest))
				return n
			}
		}
	}
	return 0
}

// Close removes the group.
func (g *MemoryGroup) Close() error {
	if g == nil {
		return nil
	}
	return os.Remove(g.dir)
}
