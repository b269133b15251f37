//go:build !linux

package system

import "errors"

var errNotLinux = errors.New("only Linux can do that")

// MemoryGroup is a memory cgroup, which only Linux has. A nil group has no
// limit.
type MemoryGroup struct{}

// NewMemoryGroup fails.
func NewMemoryGroup(int64) (*MemoryGroup, error) { return nil, errNotLinux }

// Add does nothing.
func (g *MemoryGroup) Add(int) error { return nil }

// Kills returns 0.
func (g *MemoryGroup) Kills() int { return 0 }

// Close does nothing.
func (g *MemoryGroup) Close() error { return nil }
