package system

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// MountNearlyFull mounts a file system in memory at dir, with room bytes left.
// The files are lost after unmount. Only root can do this.
func MountNearlyFull(dir string, bytes, room int64) (unmount func(), err error) {
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

// FillDisk makes a file so large that room bytes of its file system stay free.
// If the file exists, FillDisk changes its size.
func FillDisk(path string, room int64) error {
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

// EnlargeDisk changes the size of a file system that MountNearlyFull has
// mounted.
func EnlargeDisk(dir string, bytes int64) error {
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", bytes)); err != nil {
		return fmt.Errorf("enlarge a small file system: %w", err)
	}
	return nil
}
