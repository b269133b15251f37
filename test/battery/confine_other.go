//go:build !linux

package main

import "errors"

// memoryGroup is a memory cgroup, which only Linux has. A nil group is none.
type memoryGroup struct{}

var errNotLinux = errors.New("only Linux can do that")

func newMemoryGroup(int64) (*memoryGroup, error) { return nil, errNotLinux }

func (g *memoryGroup) add(int) error { return nil }
func (g *memoryGroup) kills() int    { return 0 }
func (g *memoryGroup) close() error  { return nil }

func mountFull(string, int64, int64) (unmount func(), err error) { return nil, errNotLinux }

func fillUp(string, int64) error { return errNotLinux }

func enlargeDisk(string, int64) error { return errNotLinux }
