//go:build !linux

package system

// MountNearlyFull fails.
func MountNearlyFull(string, int64, int64) (unmount func(), err error) { return nil, errNotLinux }

// FillDisk fails.
func FillDisk(string, int64) error { return errNotLinux }

// EnlargeDisk fails.
func EnlargeDisk(string, int64) error { return errNotLinux }
