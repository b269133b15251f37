package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// memoryGroup is a memory cgroup: its processes get no more memory than its
// limit. A nil group is none. close removes it once its processes have ended.
type memoryGroup struct {
	dir string
}

// cgroupRoot is where the system mounts its cgroups.
const cgroupRoot = "/sys/fs/cgroup"

// newMemoryGroup makes a cgroup, of version 1 or 2. That takes root's rights, mostly.
func newMemoryGroup(limit int64) (*memoryGroup, error) {
	parent, file := filepath.Join(cgroupRoot, "memory"), "memory.limit_in_bytes"
	if _, err := os.Stat(filepath.Join(cgroupRoot, "cgroup.controllers")); err == nil {
		parent, file = cgroupRoot, "memory.max"
	}
	dir, err := os.MkdirTemp(parent, "foliot-battery-")
	if err != nil {
		return nil, fmt.Errorf("make a memory cgroup: %w", err)
	}
	g := &memoryGroup{dir}
	if err := os.WriteFile(filepath.Join(dir, file), []byte(strconv.FormatInt(limit, 10)), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("limit a memory cgroup: %w", err), g.close())
	}
	return g, nil
}

// add puts a process into the group.
func (g *memoryGroup) add(pid int) error {
	if g == nil {
		return nil
	}
	if err := os.WriteFile(filepath.Join(g.dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o600); err != nil {
		return fmt.Errorf("put the server into a memory cgroup: %w", err)
	}
	return nil
}

// kills returns how many processes the system has killed for want of memory.
func (g *memoryGroup) kills() int {
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

func (g *memoryGroup) close() error {
	if g == nil {
		return nil
	}
	return os.Remove(g.dir)
}

// mountFull makes dir a file system in memory with room bytes left. It is
// gone after unmount. It takes root's rights.
func mountFull(dir string, bytes, room int64) (unmount func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", bytes)); err != nil {
		return nil, fmt.Errorf("mount a small file system: %w", err)
	}
	unmount = func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) } // after a failure it goes at the next boot
	ballast, err := os.Create(filepath.Join(dir, "ballast"))
	if err == nil {
		err = errors.Join(syscall.Fallocate(int(ballast.Fd()), 0, 0, bytes-room), ballast.Close())
	}
	if err != nil {
		unmount()
		return nil, fmt.Errorf("fill a small file system: %w", err)
	}
	return unmount, nil
}

// fillUp makes a file that leaves room bytes of its file system free, or changes its size.
func fillUp(path string, room int64) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("fill a file system: %w", err)
	}
	defer f.Close()
	for {
		var fs syscall.Statfs_t
		if err := syscall.Fstatfs(int(f.Fd()), &fs); err != nil {
			return fmt.Errorf("fill a file system: %w", err)
		}
		info, err := f.Stat()
		if err != nil {
			return err
		}
		more := int64(fs.Bavail)*fs.Bsize - room
		if more <= 0 {
			return f.Truncate(max(0, info.Size()+more))
		}
		err = syscall.Fallocate(int(f.Fd()), 0, info.Size(), more)
		if err != nil && !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EINTR) { // others write at the same time
			return fmt.Errorf("fill a file system: %w", err)
		}
	}
}

// enlargeDisk gives a file system that mountFull made another size.
func enlargeDisk(dir string, bytes int64) error {
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", bytes)); err != nil {
		return fmt.Errorf("enlarge a small file system: %w", err)
	}
	return nil
}
